import Glibc

/// The resources that the process uses, from the system.
public struct ProcessUsage: Sendable, Equatable {
  /// Processor time of all threads in seconds, user and system.
  public var cpuSeconds = 0.0
  /// Resident memory in bytes.
  public var residentBytes = 0
  /// Virtual memory in bytes.
  public var virtualBytes = 0
  /// The start of the process, in seconds since 1970 UTC.
  public var startSeconds = 0.0
  public var threads = 0
  /// The number of open files and sockets.
  public var openDescriptors = 0
  /// The limit of open files and sockets.
  public var maxDescriptors = 0
  /// The memory limit in bytes: the minimum of the control groups' limits and the machine's memory.
  public var memoryLimitBytes = 0

  /// Reads the values of this process; 0 for those that are not available.
  public static func read() -> ProcessUsage {
    var usage = ProcessUsage()
    usage.readStatus(SystemFile.text("/proc/self/stat") ?? "", boot: SystemFile.text("/proc/stat") ?? "")
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

  private static func countDescriptors() -> Int {
    guard let folder = opendir("/proc/self/fd") else { return 0 }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Not counting the directory's own descriptor, `.` and `..`.
    return max(0, count - 3)
  }
}
