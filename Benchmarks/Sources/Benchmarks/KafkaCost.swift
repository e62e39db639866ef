import Glibc
import Workloads

/// Processor time from Kafka to Kafka by stage, measured externally, with the embedded broker.
///
/// A bare loop in C alternates with the daemon; its time shows how fast the machine currently is.
enum KafkaCost {
  private static let recordCount = 300_000
  /// The embedded broker keeps 5 MiB of a partition, so records that are not read soon are lost.
  private static let recordsPerSecond = 40_000
  static let feedCount = 100
  private static let itemsPerFeed = 60
  private static let valueBytes = 240
  private static let windows = [100, 50, 20]
  private static let runs = 5

  private struct Run {
    var threads: DaemonThreads
    /// nil for the bare loop.
    var stages: StoreStages?
    var report: DaemonReport
    var total: UInt64 { threads.consumer + threads.worker + threads.producer }
    /// The worker's time outside the stages: in the clients' calls, and because of colder caches.
    var calls: Double {
      let staged = stages.map { $0.decode + $0.apply + $0.publish } ?? 0
      return Double(threads.worker) - Double(staged)
    }
  }

  static func run(feedstore: String) async {
    let records = sampleRecords(recordCount)
    var results: [[Run]] = windows.map { _ in [] }
    var loops: [Run] = []
    // Alternating, so that other load on the machine affects all equally.
    for _ in 0..<runs {
      let (threads, report) = runBareLoop(feedstore, records)
      loops.append(Run(threads: threads, stages: nil, report: report))
      for (index, window) in windows.enumerated() {
        let (threads, report) = runDaemon(feedstore, records, windowMilliseconds: window)
        let perTransaction = max(1, recordCount / max(1, report.sum(of: "transactions")))
        let stages = await StoreStages.measure(records, recordsPerWindow: perTransaction)
        results[index].append(Run(threads: threads, stages: stages, report: report))
      }
    }
    print(results, loops)
  }

  // MARK: Input

  /// Content updates whose values have exactly `valueBytes`.
  static func sampleRecords(_ count: Int) -> [(feed: String, text: String)] {
    var updates = SampleUpdates(feedCount: feedCount, itemsPerFeed: itemsPerFeed, valueBytes: valueBytes)
    return (0..<count).map { _ in updates.next() }
  }

  // MARK: The daemon

  private static func runDaemon(
    _ feedstore: String,
    _ records: [(feed: String, text: String)],
    windowMilliseconds: Int
  ) -> (DaemonThreads, DaemonReport) {
    let daemon = RunningProcess(
      feedstore,
      ["run", "--embedded", "--set", "coalesce.window=\(windowMilliseconds)"]
    )
    return measure(daemon, onceItSays: " restored ", feedstore, records)
  }

  private static func runBareLoop(
    _ feedstore: String,
    _ records: [(feed: String, text: String)]
  ) -> (DaemonThreads, DaemonReport) {
    let loop = RunningProcess("/proc/self/exe", [BenchmarksCommand.bareLoop, "\(windows[0])"])
    return measure(loop, onceItSays: "ready", feedstore, records)
  }

  private static func measure(
    _ process: RunningProcess,
    onceItSays ready: String,
    _ feedstore: String,
    _ records: [(feed: String, text: String)]
  ) -> (DaemonThreads, DaemonReport) {
    let address = process.readLine()
    process.wait(for: ready, seconds: 30)
    var before: [ThreadTime] = []
    publish(feedstore, records, recordsPerSecond, to: address) { before = ThreadTime.all(of: process.id) }
    // For records in flight.
    sleep(1)
    let after = ThreadTime.all(of: process.id)
    let report = DaemonReport(process.stop())
    let read = report.sum(of: "records")
    guard read == recordCount else {
      BenchmarksCommand.fail("the embedded broker dropped \(recordCount - read) of \(recordCount) records")
    }
    guard let threads = DaemonThreads(from: before, to: after) else {
      let names = after.map(\.name).joined(separator: ", ")
      BenchmarksCommand.fail("whose the threads are cannot be told: \(names)")
    }
    return (threads, report)
  }

  /// Sends records to a daemon's broker at a given rate.
  ///
  /// - Parameter onStart: called before the first record is sent.
  static func publish(
    _ feedstore: String,
    _ records: [(feed: String, text: String)],
    _ recordsPerSecond: Int,
    to address: String,
    onStart: () -> Void = {}
  ) {
    SampleFile.with(lineCount: records.count) { number in
      #"{"topic":"feeds.items","ts":\#(number * 1000 / recordsPerSecond),"#
        + #""key":"\#(records[number].feed)","value":\#(records[number].text)}"#
    } _: { path in
      onStart()
      _ = ChildProcess.run(
        feedstore,
        ["publish", path, "--speed", "1", "--set", "kafka.bootstrap.servers=\(address)"]
      )
    }
  }

  // MARK: Output

  private static func print(_ results: [[Run]], _ loops: [Run]) {
    let columns = results + [loops]
    var table = MarkdownTable(
      ["processor seconds per million records"] + windows.map { "window of \($0) ms" }
        + ["bare loop, window of \(windows[0]) ms"]
    )
    func add(_ name: String, _ value: (Run) -> Double?) {
      let cells = columns.map { runs in
        median(runs.compactMap(value)).map { Format.decimal($0 / Double(recordCount) * 1e6 / 1e9) } ?? ""
      }
      table.add([name] + cells)
    }
    func addText(_ name: String, of runs: [[Run]], _ text: (DaemonReport) -> String) {
      let cells = runs.map { text($0[$0.count / 2].report) }
      table.add([name] + cells + [String](repeating: "", count: columns.count - cells.count))
    }
    add("consumer threads of librdkafka") { Double($0.threads.consumer) }
    add("decode") { $0.stages.map { Double($0.decode) } }
    add("apply") { $0.stages.map { Double($0.apply) } }
    add("plan and encode") { $0.stages.map { Double($0.publish) } }
    add("client calls, and the rest of the worker", \.calls)
    add("producer threads of librdkafka") { Double($0.threads.producer) }
    add("**all**") { Double($0.total) }
    // The ratios of consecutive runs, so that a machine that slows down has no effect.
    let ratios = results.map { runs in zip(runs, loops).map { Double($0.total) / Double($1.total) } }
    let cells = (ratios + [loops.map { _ in 1 }]).map { Format.decimal(median($0) ?? 0) }
    table.add(["times the bare loop"] + cells)
    addText("records in", of: columns) { Format.grouped($0.sum(of: "records")) }
    addText("bytes in", of: results) { $0.text(of: "bytes in") }
    addText("transactions", of: columns) { Format.grouped($0.sum(of: "transactions")) }
    addText("changesets out", of: results) { Format.grouped($0.sum(of: "changesets")) }
    addText("bytes out", of: results) { $0.text(of: "bytes out") }
    Swift.print("### From Kafka to Kafka\n\nMedians of \(runs) runs.\n")
    Swift.print(table.text)
  }

  private static func median(_ values: [Double]) -> Double? {
    values.isEmpty ? nil : values.sorted()[values.count / 2]
  }
}
