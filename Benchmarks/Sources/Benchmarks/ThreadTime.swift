import Glibc

/// The processor time that one thread of a process has used.
struct ThreadTime {
  var id: pid_t
  var name: String
  var nanoseconds: UInt64

  /// All threads of a process, in the order of their creation.
  static func all(of process: pid_t) -> [ThreadTime] {
    let directory = "/proc/\(process)/task"
    guard let entries = opendir(directory) else { return [] }
    defer { closedir(entries) }
    var threads: [ThreadTime] = []
    while let entry = readdir(entries) {
      let text = withUnsafeBytes(of: entry.pointee.d_name) { name in
        String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
      }
      // A thread that ends meanwhile is skipped.
      guard let id = pid_t(text),
        let name = firstLine(of: "\(directory)/\(text)/comm"),
        let time = firstLine(of: "\(directory)/\(text)/schedstat")?.split(separator: " ").first,
        let nanoseconds = UInt64(time)
      else { continue }
      threads.append(ThreadTime(id: id, name: name, nanoseconds: nanoseconds))
    }
    return threads.sorted { $0.id < $1.id }
  }

  /// What threads whose names are wanted used between two samples, in nanoseconds.
  static func used(
    from before: [ThreadTime],
    to after: [ThreadTime],
    _ isWanted: (String) -> Bool
  ) -> UInt64 {
    let earlier = Dictionary(uniqueKeysWithValues: before.map { ($0.id, $0.nanoseconds) })
    return after.filter { isWanted($0.name) }.reduce(0) { $0 + $1.nanoseconds - (earlier[$1.id] ?? 0) }
  }

  /// The calling thread's processor time, in nanoseconds.
  static func current() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func firstLine(of path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
