import Glibc

/// A replay file in the temporary directory, removed after use.
enum SampleFile {
  nonisolated(unsafe) private static var pathCount = 0

  /// Calls `body` with a file of the lines that `line` returns for each number.
  static func with(lineCount: Int, line: (Int) -> String, _ body: (String) -> Void) {
    let path = path("ndjson")
    guard let file = fopen(path, "w") else { BenchmarksCommand.fail("cannot write \(path)") }
    for number in 0..<lineCount { fputs(line(number) + "\n", file) }
    guard fclose(file) == 0 else { BenchmarksCommand.fail("cannot write \(path)") }
    defer { unlink(path) }
    body(path)
  }

  static func write(_ text: String, to path: String) {
    guard let file = fopen(path, "w"), fputs(text, file) >= 0, fclose(file) == 0 else {
      BenchmarksCommand.fail("cannot write \(path)")
    }
  }

  /// A unique path in the temporary directory.
  static func path(_ ending: String) -> String {
    pathCount += 1
    let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    return "\(directory)/feedstore-benchmark-\(getpid())-\(pathCount).\(ending)"
  }

  /// The number of lines and bytes of a file.
  static func size(_ path: String) -> (lines: Int, bytes: Int) {
    guard let file = fopen(path, "r") else { BenchmarksCommand.fail("cannot read \(path)") }
    defer { fclose(file) }
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    var lines = 0
    var bytes = 0
    while true {
      let count = fread(&chunk, 1, chunk.count, file)
      if count == 0 { return (lines, bytes) }
      for byte in chunk[..<count] where byte == 0x0A { lines += 1 }
      bytes += count
    }
  }
}
