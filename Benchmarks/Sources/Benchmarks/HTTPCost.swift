import Glibc

/// What HTTP readers cost the daemon, and that they cost its worker nothing.
enum HTTPCost {
  private static let recordCount = 150_000
  private static let recordsPerSecond = 30_000
  private static let readerCount = 1_000
  private static let runs = 3

  private enum Readers: String, CaseIterable {
    case off = "HTTP off"
    case none = "no readers"
    case idle = "1,000 that do not read"
    case reading = "1,000 that read"
  }

  private struct Run {
    /// Processor time of the worker's thread, in nanoseconds.
    var worker: UInt64
    /// Processor time of the follower's thread and client, and of the serving threads.
    var serving: UInt64
    /// The number of stream messages that were rejected because a queue was full.
    var refused: Int
    var queued: Int
    var residentBytes: Int
  }

  static func run(feedstore: String) {
    let records = KafkaCost.sampleRecords(recordCount)
    var results: [Readers: [Run]] = [:]
    for _ in 0..<runs {
      for readers in Readers.allCases {
        results[readers, default: []].append(runDaemon(feedstore, records, readers))
      }
    }
    print(results)
  }

  private static func runDaemon(
    _ feedstore: String,
    _ records: [(feed: String, text: String)],
    _ readers: Readers
  ) -> Run {
    var arguments = ["run", "--embedded"]
    if readers != .off {
      // A queue that fills up soon.
      let settings = ["http.enabled=true", "http.port=0", "http.maxStreamBytes=65536"]
      arguments += settings.flatMap { ["--set", $0] }
    }
    let daemon = RunningProcess(feedstore, arguments)
    let address = daemon.readLine()
    daemon.wait(for: " restored ", seconds: 30)
    let port = readers == .off ? 0 : daemon.port
    // All feeds are created first, so that they can be followed.
    KafkaCost.publish(feedstore, Array(records.prefix(records.count / 10)), recordsPerSecond, to: address)
    sleep(1)
    var streams: [Int32] = []
    if readers == .idle || readers == .reading {
      streams = (0..<readerCount).map { open(port, "/v1/feeds/feed-\($0 % KafkaCost.feedCount)/changes") }
    }
    let reader = readers == .reading ? StreamDrain(streams) : nil
    let before = ThreadTime.all(of: daemon.id)
    KafkaCost.publish(feedstore, records, recordsPerSecond, to: address)
    sleep(1)
    let after = ThreadTime.all(of: daemon.id)
    let status = readers == .off ? "" : get(port, "/v1/status")
    let resident = daemon.residentBytes
    reader?.stop()
    for stream in streams { close(stream) }
    let report = DaemonReport(daemon.stop())
    let expected = records.count + records.count / 10
    guard report.sum(of: "records") == expected else {
      BenchmarksCommand.fail("the embedded broker dropped records")
    }
    return Run(
      worker: ThreadTime.used(from: before, to: after) { $0 == "worker-0" },
      serving: ThreadTime.used(from: before, to: after) {
        ["feed client", "MHD-worker", "http-streams"].contains($0)
      },
      refused: number(after: "\"droppedEvents\":", in: status),
      queued: number(after: "\"queuedEvents\":", in: status),
      residentBytes: resident
    )
  }

  // MARK: Clients

  /// A connection that reads a stream.
  static func open(_ port: Int, _ path: String) -> Int32 {
    let stream = connect(port)
    send(stream, "GET \(path) HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    return stream
  }

  /// The complete response to a request on a new connection.
  ///
  /// - Parameter fields: further header fields, each with a line break.
  static func get(_ port: Int, _ path: String, fields: String = "") -> String {
    let connection = connect(port)
    defer { close(connection) }
    send(connection, "GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n")
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while case let count = recv(connection, &bytes, bytes.count, 0), count > 0 { text += bytes[..<count] }
    return String(decoding: text, as: UTF8.self)
  }

  /// - Parameter patiently: whether the server may not listen yet.
  static func connect(_ port: Int, patiently: Bool = false) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var result = at(port) { Glibc.connect(descriptor, $0, $1) }
    let end = now() + 5_000_000_000
    while patiently, result != 0, now() < end {
      usleep(5_000)
      result = at(port) { Glibc.connect(descriptor, $0, $1) }
    }
    guard descriptor >= 0, result == 0 else { BenchmarksCommand.fail("cannot connect: raise ulimit -n") }
    return descriptor
  }

  /// A port that nobody listens on.
  static func freePort() -> Int {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = at(0) { bind(descriptor, $0, $1) }
    withUnsafeMutableBytes(of: &address) { bytes in
      _ = bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress!, &size) }
    }
    guard result == 0, address.sin_port != 0 else { BenchmarksCommand.fail("no port is free") }
    return Int(UInt16(bigEndian: address.sin_port))
  }

  /// Calls `body` with the loopback address and a port.
  private static func at(_ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    return withUnsafeBytes(of: &address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        body($0.baseAddress!, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }

  static func send(_ descriptor: Int32, _ text: String) {
    _ = text.withCString { Glibc.send(descriptor, $0, strlen($0), Int32(MSG_NOSIGNAL)) }
  }

  static func number(after name: String, in text: String) -> Int {
    guard let start = text.firstRange(of: name)?.upperBound else { return 0 }
    return Int(text[start...].prefix { $0.isNumber }) ?? 0
  }

  // MARK: Output

  private static func print(_ results: [Readers: [Run]]) {
    var table = MarkdownTable(["processor seconds per million records"] + Readers.allCases.map(\.rawValue))
    func add(_ name: String, _ value: (Run) -> String) {
      table.add([name] + Readers.allCases.map { value(median(results[$0] ?? [])) })
    }
    func perMillion(_ nanoseconds: UInt64) -> String {
      Format.decimal(Double(nanoseconds) / Double(recordCount) * 1e6 / 1e9)
    }
    add("worker") { perMillion($0.worker) }
    add("following and serving") { perMillion($0.serving) }
    add("messages queued") { Format.grouped($0.queued) }
    add("messages dropped") { Format.grouped($0.refused) }
    add("resident memory") { "\($0.residentBytes >> 20) MiB" }
    Swift.print("### Readers over HTTP\n\nMedians of \(runs) runs by the worker's time.\n")
    Swift.print(table.text)
  }

  private static func median(_ runs: [Run]) -> Run { runs.sorted { $0.worker < $1.worker }[runs.count / 2] }
}
