import CBareLoop
import Glibc
import Workloads

/// What windows of a large feed cost: a thousand different ones, each with a reader.
enum WindowCost {
  private static let sectionCount = 1_000
  private static let itemsPerSection = 1_000
  private static let shown = 10
  private static let updatesPerSecond = 2_000
  private static let measuredSeconds = 8
  /// Milliseconds; so a changeset has about twenty updates.
  private static let windowMilliseconds = 10

  /// Which items the updates change.
  private enum Load: String, CaseIterable {
    case outside = "data of items that no window shows"
    case anywhere = "data of any items"
    case moves = "moves of any items to the front of their sections"
  }

  static func run(feedstore: String) {
    let settings = [
      "http.enabled=true", "http.port=0", "coalesce.window=\(windowMilliseconds)",
      "coalesce.idleWindow=\(windowMilliseconds)",
      // The embedded broker keeps 5 MiB, and a keyframe would have 70.
      "keyframe.maxDeltas=500000", "keyframe.maxBytesRatio=1000000",
    ]
    let daemon = RunningProcess(feedstore, ["run", "--embedded"] + settings.flatMap { ["--set", $0] })
    let sender = openSender(daemon.readLine(), "feeds.items", "0")
    daemon.wait(for: " restored ", seconds: 30)
    let port = daemon.port
    fill(sender, port)
    var table = MarkdownTable(
      "\(Format.grouped(updatesPerSecond)) updates a second",
      "following, no readers",
      "1,000 readers of 1,000 windows",
      "messages to them",
      "1,000 readers of one window"
    )
    var memory = ""
    for load in Load.allCases {
      let idle = measure(daemon, sender, [], load)
      let before = daemon.residentBytes
      let streams = open(port) { "sections=s\($0)&first=\(shown)" }
      if memory.isEmpty {
        memory = Format.decimal(Double(daemon.residentBytes - before) / Double(streams.count) / 1000)
      }
      let windows = measure(daemon, sender, streams, load)
      for stream in streams { close(stream) }
      let same = open(port) { _ in "first=0" }
      let heads = measure(daemon, sender, same, load)
      for stream in same { close(stream) }
      table.add(
        load.rawValue,
        share(idle.nanoseconds),
        share(windows.nanoseconds),
        Format.grouped(windows.messages),
        share(heads.nanoseconds)
      )
    }
    closeSender(sender)
    _ = daemon.stop()
    print(
      """
      ### Windows

      A feed of \(Format.grouped(sectionCount * itemsPerSection)) items in \(Format.grouped(sectionCount)) sections. The \
      threads that follow and serve, in hundredths of a core. A window is the first \(shown) items of one section, the one \
      window the sections without items; a stream and its window take \(memory) kB.

      """
    )
    print(table.text)
  }

  private static func share(_ nanoseconds: UInt64) -> String {
    Format.decimal(Double(nanoseconds) / Double(measuredSeconds) / 1e7)
  }

  private static func fill(_ sender: OpaquePointer?, _ port: Int) {
    let padding = String(repeating: "x", count: 40)
    let end = now() + 300_000_000_000
    for section in 0..<sectionCount {
      let items = (0..<itemsPerSection).map {
        #"{"id":"i\#(section)-\#($0)","kind":"k","data":{"n":0,"text":"\#(padding)"}}"#
      }
      send(
        sender,
        #"{"op":"section.replace","section":"s\#(section)","items":[\#(items.joined(separator: ","))]}"#
      )
      // What is not followed at once would be dropped.
      let count = #""items":\#((section + 1) * itemsPerSection),"#
      while section % 20 == 19, !HTTPCost.get(port, "/v1/feeds").contains(count) {
        if now() > end { BenchmarksCommand.fail("the feed is not filled within 300 s") }
        usleep(5_000)
      }
    }
  }

  private static func send(_ sender: OpaquePointer?, _ text: String) {
    sendRecord(sender, "feed", 4, text, text.utf8.count)
  }

  private static func open(_ port: Int, _ window: (Int) -> String) -> [Int32] {
    let streams = (0..<sectionCount).map { HTTPCost.open(port, "/v1/feeds/feed/changes?\(window($0))") }
    usleep(2_000_000)
    return streams
  }

  private static func measure(
    _ daemon: RunningProcess,
    _ sender: OpaquePointer?,
    _ streams: [Int32],
    _ load: Load
  ) -> (nanoseconds: UInt64, messages: Int) {
    let drain = StreamDrain(streams)
    usleep(1_000_000)
    let queued = queuedMessages(daemon.port)
    // Others than before, so that each update changes something.
    let version = now()
    var random = RandomNumbers(seed: version)
    let start = now()
    let before = ThreadTime.all(of: daemon.id)
    for number in 0..<updatesPerSecond * measuredSeconds {
      let time = start + UInt64(number) * 1_000_000_000 / UInt64(updatesPerSecond)
      if now() < time {
        var left = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &left, nil)
      }
      let first = load == .outside ? shown : 0
      let item = "i\(random.below(sectionCount))-\(first + random.below(itemsPerSection - first))"
      switch load {
      case .outside, .anywhere:
        send(sender, #"{"op":"item.patch","item":"\#(item)","data":{"n":\#(version + UInt64(number))}}"#)
      case .moves: send(sender, #"{"op":"item.move","item":"\#(item)","at":"first"}"#)
      }
    }
    usleep(500_000)
    let after = ThreadTime.all(of: daemon.id)
    drain.stop()
    let used = ThreadTime.used(from: before, to: after) { name in
      name == "feed client" || ["MHD-", "http-"].contains { name.hasPrefix($0) }
    }
    return (used, queuedMessages(daemon.port) - queued)
  }

  private static func queuedMessages(_ port: Int) -> Int {
    HTTPCost.number(after: "\"queuedEvents\":", in: HTTPCost.get(port, "/v1/status"))
  }
}
