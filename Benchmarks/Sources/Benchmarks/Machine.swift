import Glibc

/// The date and the machine of the measurements.
enum Machine {
  static var description: String {
    let model = field("model name", in: "/proc/cpuinfo") ?? "unknown processor"
    return "Measured on \(date): \(model), \(sysconf(Int32(_SC_NPROCESSORS_ONLN))) cores, "
      + "\(MemoryLayout<Int>.size * 8)-bit Linux, Swift \(compiler)."
  }

  /// The date, such as 21 November 2026.
  private static var date: String {
    var seconds = time(nil)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    var text = [CChar](repeating: 0, count: 64)
    let count = strftime(&text, text.count, "%-d %B %Y", &parts)
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  private static var compiler: String {
    #if compiler(>=6.4)
      "6.4 or later"
    #elseif compiler(>=6.3)
      "6.3"
    #else
      "6.2"
    #endif
  }

  /// The value of the first line `name : value` of a file below /proc.
  private static func field(_ name: String, in path: String) -> String? {
    guard let file = fopen(path, "r") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      guard text.hasPrefix(name), let colon = text.firstIndex(of: ":") else { continue }
      let value = text[text.index(after: colon)...]
      return String(value.drop(while: \.isWhitespace).prefix { $0 != "\n" })
    }
    return nil
  }
}
