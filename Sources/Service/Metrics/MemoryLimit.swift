/// The memory limit of the process.
enum MemoryLimit {
  /// The minimum of the machine's memory and the limits of the process's control groups and their ancestors.
  ///
  /// - Parameter read: returns the text of a file; nil if it does not exist.
  /// - Returns: bytes; 0 if they are unknown.
  static func bytes(reading read: (String) -> String? = SystemFile.text) -> Int {
    var limits: [Int] = []
    if let total = read("/proc/meminfo").flatMap(totalBytes) { limits.append(total) }
    for line in (read("/proc/self/cgroup") ?? "").split(separator: "\n") {
      // hierarchy:controllers:path
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      if parts[1].isEmpty {
        limits += groupLimits("/sys/fs/cgroup", parts[2], "memory.max", read)
      } else if parts[1].split(separator: ",").contains("memory") {
        limits += groupLimits("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", read)
      }
    }
    return limits.min() ?? 0
  }

  /// The limits of a group and its ancestors. In a container, the path may exist only on the host; then the topmost
  /// visible group is the container's.
  private static func groupLimits(
    _ root: String,
    _ path: Substring,
    _ file: String,
    _ read: (String) -> String?
  ) -> [Int] {
    let parts = path.split(separator: "/")
    return (0...parts.count).compactMap { count in
      let folder = ([root] + parts.prefix(count).map(String.init)).joined(separator: "/")
      let text = read("\(folder)/\(file)") ?? ""
      // "max" is not a number. Without a limit, version 1 has a number larger than any machine's memory.
      return text.split(separator: "\n").first.flatMap { Int($0) }
    }
  }

  /// `MemTotal:       24689552 kB`
  private static func totalBytes(_ text: String) -> Int? {
    let line = text.split(separator: "\n").first { $0.hasPrefix("MemTotal:") }
    return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1024 }
  }
}
