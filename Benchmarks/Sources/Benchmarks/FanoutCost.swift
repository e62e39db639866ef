import CBareLoop
import Glibc

/// What it costs to send each change of a feed to all of its readers, beside nginx with nchan.
enum FanoutCost {
  private static let deliveriesPerSecond = 20_000
  /// The size of an update's data; the messages of both servers have about `messageBytes`.
  private static let dataBytes = 300
  private static let messageBytes = 590
  private static let measuredSeconds = 8
  private static let quietSeconds = 4
  private static let runs = 3
  /// Milliseconds; two updates of a feed are never in one window.
  private static let windowMilliseconds = 5

  private struct Load {
    let readers: Int
    let feeds: Int
    /// Between two messages, which go to the feeds by turns.
    var intervalNanoseconds: UInt64 { UInt64(readers / feeds * 1_000_000_000 / deliveriesPerSecond) }
    var name: String { "\(Format.grouped(readers)) readers of \(feeds) feed\(feeds == 1 ? "" : "s")" }
  }

  private static let loads = [
    Load(readers: 1_000, feeds: 10), Load(readers: 1_000, feeds: 1), Load(readers: 5_000, feeds: 10),
  ]

  private struct Run {
    /// Nanoseconds of the processor for a delivery: the threads that serve, and all that readers cost the process.
    var serving: Double
    var all: Double
    var bytesPerConnection: Double
    var received: FanoutReaders.Received
  }

  static func run(feedstore: String, nginx: String?, runs: Int?) {
    let runs = runs ?? Self.runs
    let nginx = nginx.flatMap { access(Nginx.module, R_OK) == 0 ? $0 : nil }
    var table = MarkdownTable(
      "",
      "serving, µs a delivery",
      "all, µs a delivery",
      "kB a connection",
      "delay, p50",
      "longest",
      "after the first reader, p99",
      "longest",
      "lost"
    )
    for load in loads {
      var results: [(name: String, runs: [Run])] = [("FeedStore", [])]
      if nginx != nil { results.append(("nchan", [])) }
      // Alternating, so that other load on the machine affects both equally.
      for _ in 0..<runs {
        results[0].runs.append(measure(DaemonTarget(feedstore, load.feeds, windowMilliseconds), load))
        if let nginx { results[1].runs.append(measure(Nginx(nginx, load.readers), load)) }
      }
      for (name, runs) in results {
        func median(_ value: (Run) -> Double) -> Double { runs.map(value).sorted()[runs.count / 2] }
        table.add(
          "\(name), \(load.name)",
          Format.decimal(median(\.serving) / 1000),
          Format.decimal(median(\.all) / 1000),
          Format.decimal(median(\.bytesPerConnection) / 1000),
          Format.milliseconds(median(\.received.delays.median)),
          Format.milliseconds(median(\.received.delays.longest)),
          Format.milliseconds(median(\.received.spreads.p99)),
          Format.milliseconds(median(\.received.spreads.longest)),
          Format.grouped(runs.reduce(0) { $0 + $1.received.lost })
        )
      }
    }
    print(
      """
      ### Fan-out

      \(Format.grouped(deliveriesPerSecond)) deliveries a second of a change of \(dataBytes) bytes, in messages of about \
      \(messageBytes). Medians of \(runs) runs by turns.

      """
    )
    print(table.text)
    if nginx == nil { print("nchan was not measured: there is no nginx in PATH, or no \(Nginx.module).\n") }
  }

  private static func measure(_ target: some FanoutTarget, _ load: Load) -> Run {
    // The feeds exist, and the caches are warm.
    var number = 0
    publish(to: target, load, seconds: 1, &number)
    let before = ThreadTime.all(of: target.id)
    publish(to: target, load, seconds: quietSeconds, &number)
    let quiet = ThreadTime.all(of: target.id)
    let resident = target.residentBytes
    let sockets = (0..<load.readers).map { HTTPCost.open(target.port, target.path($0 % load.feeds)) }
    defer { for socket in sockets { close(socket) } }
    let readers = FanoutReaders(sockets, feedCount: load.feeds)
    usleep(1_000_000)
    // The first message may still be a feed's state.
    publish(to: target, load, seconds: 1, &number)
    usleep(500_000)
    let first = number
    // Before the messages that are kept for readers that reconnect become many.
    let growth = target.residentBytes - resident
    let start = ThreadTime.all(of: target.id)
    readers.measure(from: first)
    publish(to: target, load, seconds: measuredSeconds, &number)
    usleep(500_000)
    let end = ThreadTime.all(of: target.id)
    let received = readers.stop()
    target.stop()
    guard received.count > 0 else { BenchmarksCommand.fail("\(target.name) delivered nothing") }
    func perDelivery(_ isWanted: (String) -> Bool) -> Double {
      let used = Double(ThreadTime.used(from: start, to: end, isWanted)) / Double(measuredSeconds)
      let idle = Double(ThreadTime.used(from: before, to: quiet, isWanted)) / Double(quietSeconds)
      return (used - idle) * Double(measuredSeconds) / Double(received.count)
    }
    let run = Run(
      serving: perDelivery(target.isServing),
      all: perDelivery { _ in true },
      bytesPerConnection: Double(growth) / Double(load.readers),
      received: received
    )
    BenchmarksCommand.note(
      "\(target.name), \(load.name): \(received.count) deliveries of \(received.bytes / received.count) bytes, "
        + "\(received.lost) lost, serving \(Format.microseconds(run.serving)), "
        + "all \(Format.microseconds(run.all)), \(Format.decimal(run.bytesPerConnection / 1000)) kB a connection, "
        + "delay \(Format.milliseconds(received.delays.median)), longest \(Format.milliseconds(received.delays.longest))"
    )
    return run
  }

  /// Publishes numbered messages that say when they were sent.
  private static func publish(to target: some FanoutTarget, _ load: Load, seconds: Int, _ number: inout Int) {
    let start = now()
    let count = UInt64(seconds) * 1_000_000_000 / load.intervalNanoseconds
    for sent in 0..<count {
      var time = start + sent * load.intervalNanoseconds
      if now() < time {
        var left = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &left, nil)
      }
      time = now()
      let mark = #""n":"# + FanoutReaders.digits(UInt64(number)) + #","at":"# + FanoutReaders.digits(time)
      target.publish(feed: number % load.feeds, mark, dataBytes: dataBytes, messageBytes: messageBytes)
      number += 1
    }
  }
}

/// A server whose fan-out is measured.
private protocol FanoutTarget {
  var name: String { get }
  /// The process that serves.
  var id: pid_t { get }
  var port: Int { get }
  var residentBytes: Int { get }
  /// The path of a feed's stream.
  func path(_ feed: Int) -> String
  /// Whether a thread of this name does nothing but serve.
  func isServing(_ thread: String) -> Bool
  /// - Parameter mark: members of a JSON object that are in the message.
  func publish(feed: Int, _ mark: String, dataBytes: Int, messageBytes: Int)
  func stop()
}

/// The daemon with an embedded broker.
private struct DaemonTarget: FanoutTarget {
  let name = "FeedStore"
  private let process: RunningProcess
  private let sender: OpaquePointer?
  let port: Int

  init(_ feedstore: String, _ feeds: Int, _ windowMilliseconds: Int) {
    let settings = [
      "http.enabled=true", "http.port=0", "http.maxConnections=6000", "http.maxConnectionsPerAddress=6000",
      "http.maxStreams=6000", "coalesce.window=\(windowMilliseconds)",
      "coalesce.idleWindow=\(windowMilliseconds)",
    ]
    process = RunningProcess(feedstore, ["run", "--embedded"] + settings.flatMap { ["--set", $0] })
    let address = process.readLine()
    process.wait(for: " restored ", seconds: 30)
    port = process.port
    sender = openSender(address, "feeds.items", "0")
  }

  var id: pid_t { process.id }
  var residentBytes: Int { process.residentBytes }

  func path(_ feed: Int) -> String { "/v1/feeds/feed-\(feed)/changes" }

  func isServing(_ thread: String) -> Bool {
    ["MHD-", "http-"].contains { thread.hasPrefix($0) }
  }

  func publish(feed: Int, _ mark: String, dataBytes: Int, messageBytes: Int) {
    let key = "feed-\(feed)"
    let padding = String(repeating: "x", count: max(0, dataBytes - mark.utf8.count - 12))
    let text =
      #"{"op":"item.upsert","item":"item","section":"stories","data":{\#(mark),"text":"\#(padding)"}}"#
    sendRecord(sender, key, key.utf8.count, text, text.utf8.count)
  }

  func stop() {
    closeSender(sender)
    _ = process.stop()
  }
}

/// nginx with nchan and one worker, to which messages are posted.
private struct Nginx: FanoutTarget {
  static let module = "/usr/lib/nginx/modules/ngx_nchan_module.so"
  let name = "nchan"
  private let master: RunningProcess
  private let directory = SampleFile.path("nginx")
  private let publisher: Int32
  let id: pid_t
  let port: Int

  init(_ nginx: String, _ readers: Int) {
    mkdir(directory, 0o700)
    port = HTTPCost.freePort()
    let directory = directory
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(directory)/\($0);"
    }
    let text = """
      load_module \(Self.module);
      daemon off;
      worker_processes 1;
      worker_rlimit_nofile \(readers + 500);
      pid \(directory)/pid;
      \(geteuid() == 0 ? "user root;" : "")
      events { worker_connections \(readers + 400); }
      http {
        access_log off;
        keepalive_requests 1000000;
        \(paths.joined(separator: " "))
        server {
          listen 127.0.0.1:\(port) backlog=4096;
          location ~ ^/publish/(.+)$ { nchan_publisher; nchan_channel_id $1; }
          location ~ ^/read/(.+)$ {
            nchan_subscriber eventsource;
            nchan_channel_id $1;
            nchan_subscriber_first_message newest;
          }
        }
      }
      """
    SampleFile.write(text, to: "\(directory)/nginx.conf")
    master = RunningProcess(nginx, ["-c", "\(directory)/nginx.conf", "-e", "stderr"])
    publisher = HTTPCost.connect(port, patiently: true)
    id = master.waitForChild()
  }

  /// nginx's memory is the worker's.
  var residentBytes: Int { RunningProcess.residentBytes(of: id) }

  func path(_ feed: Int) -> String { "/read/feed-\(feed)" }

  func isServing(_ thread: String) -> Bool { true }

  func publish(feed: Int, _ mark: String, dataBytes: Int, messageBytes: Int) {
    let padding = String(repeating: "x", count: messageBytes - mark.utf8.count - 12)
    let text = #"{\#(mark),"text":"\#(padding)"}"#
    let head =
      "POST /publish/feed-\(feed) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(text.utf8.count)\r\n\r\n"
    HTTPCost.send(publisher, head + text)
    var answer = [UInt8](repeating: 0, count: 4096)
    guard recv(publisher, &answer, answer.count, 0) > 0 else {
      master.fail("closed the publisher's connection")
    }
  }

  func stop() {
    close(publisher)
    _ = master.stop()
    for path in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi", "nginx.conf"] {
      remove("\(directory)/\(path)")
    }
    rmdir(directory)
  }
}
