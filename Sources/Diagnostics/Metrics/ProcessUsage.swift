import CMalloc
import Glibc
import OperatingSystem

/// The resources that the process uses, from the system.
package struct ProcessUsage: Sendable, Equatable {
  /// Processor time of all threads in seconds, user and system.
  package var cpuSeconds = 0.0
  package var residentBytes = 0
  package var virtualBytes = 0
  /// The start of the process, in seconds since 1970 UTC.
  package var startSeconds = 0.0
  package var threads = 0
  package var openDescriptors = 0
  /// The limit of open files and sockets.
  package var maxDescriptors = 0
  /// The memory limit in bytes: the minimum of the control groups' limits and the machine's memory.
  package var memoryLimitBytes = 0

  /// Reads the values of this process; 0 for unavailable ones.
  package static func read() -> ProcessUsage {
    var usage = ProcessUsage()
    usage.readStatus(MemoryLimit.text("/proc/self/stat") ?? "", boot: MemoryLimit.text("/proc/stat") ?? "")
    usage.openDescriptors = countDescriptors()
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      usage.maxDescriptors = Int(clamping: limit.rlim_cur)
    }
    usage.memoryLimitBytes = MemoryLimit.bytes()
    return usage
  }

  /// - Parameters:
  ///   - status: `/proc/self/stat`: one line; the second field is the name in parentheses, which may contain any text.
  ///   - boot: `/proc/stat`, which has the boot time.
  mutating func readStatus(_ status: String, boot: String) {
    guard let name = status.lastIndex(of: ")") else { return }
    // The first of these is field 3 of proc(5).
    let fields = status[name...].dropFirst().split(separator: " ")
    func field(_ number: Int) -> Double { number - 3 < fields.count ? Double(fields[number - 3]) ?? 0 : 0 }
    let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
    cpuSeconds = (field(14) + field(15)) / ticks
    threads = Int(field(20))
    virtualBytes = Int(field(23))
    residentBytes = Int(field(24)) * max(1, sysconf(Int32(_SC_PAGESIZE)))
    let line = boot.split(separator: "\n").first { $0.hasPrefix("btime ") }
    if let bootSeconds = line.flatMap({ Double($0.dropFirst(6)) }) {
      startSeconds = bootSeconds + field(22) / ticks
    }
  }

  /// The limit of the address space in bytes (`ulimit -v`, `LimitAS`); nil if there is none.
  package static var addressSpaceBytes: Int? {
    var limit = rlimit()
    let isKnown = getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0
    return isKnown && limit.rlim_cur < rlim_t(Int.max) ? Int(limit.rlim_cur) : nil
  }

  /// Whether a program such as chrony synchronizes the system's clock.
  package static var clockIsSynchronized: Bool { feedstore_clock_is_synchronized() != 0 }

  private static func countDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Not counting the directory's own descriptor, `.` and `..`.
    return max(0, count - 3)
  }
}

enum MemoryLimit {
  /// The text of a file of `/proc` or `/sys`; nil if it cannot be read.
  static func text(_ path: String) -> String? {
    (try? WholeFile.bytes(path, atMost: 16 << 20)).flatMap { $0.map { String(decoding: $0, as: UTF8.self) } }
  }

  /// The minimum of the machine's memory and the limits of the process's control groups and their ancestors.
  ///
  /// - Parameter read: returns the text of a file; nil if it does not exist.
  /// - Returns: bytes; 0 if unknown.
  static func bytes(reading read: (String) -> String? = text) -> Int {
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

/// Controls whether the allocator keeps freed memory.
package enum FreedMemory {
  /// The largest block that glibc allocates from its heaps.
  private static let blockBytes: Int32 = 32 << 20
  private static let keptBytes: Int32 = 256 << 20

  /// Makes the allocator keep freed memory for reuse.
  ///
  /// By default, glibc returns the end of a heap to the system as soon as 128 kB of it are free, and requests it again
  /// for the next block. For a program that fetches, applies and frees hundreds of megabytes per second, that takes a
  /// tenth of the time. Call ``giveBack()`` once the memory is unused.
  package static func keep() { feedstore_malloc_keep(blockBytes, keptBytes) }

  /// Has room at the end of this thread's heap for blocks that are about to be allocated.
  ///
  /// In threads other than the first one, glibc extends the heap by a page at a time, with a system call for each that waits for
  /// all others that change or touch new memory of the process. After ``keep()`` the room stays until it is used.
  ///
  /// - Parameter bytes: 16 MiB if it is more.
  package static func makeRoom(for bytes: Int) { feedstore_malloc_extend(min(bytes, Int(blockBytes) / 2)) }

  /// Returns free memory to the system. It takes some milliseconds for each gigabyte of heap.
  package static func giveBack() { feedstore_malloc_trim() }
}
