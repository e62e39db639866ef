import Glibc

/// The processor time of the way from Kafka to Kafka by stage, seen from outside, on the embedded broker.
enum KafkaCost {
  private static let recordCount = 300_000
  /// The embedded broker keeps 5 MiB of a partition: what is not read soon is gone.
  private static let recordsPerSecond = 40_000
  static let feedCount = 100
  private static let itemsPerFeed = 60
  private static let valueBytes = 240
  private static let windows = [100, 50, 20]
  private static let runs = 5

  private struct Run {
    var threads: DaemonThreads
    var stages: StoreStages
    var report: DaemonReport
    var total: UInt64 { threads.consumer + threads.worker + threads.producer }
    /// What the worker spends besides the stages: in the clients' calls, and as its caches are colder.
    var calls: Double {
      Double(threads.worker) - Double(stages.decode) - Double(stages.apply) - Double(stages.publish)
    }
  }

  static func run(feedstore: String) async {
    let records = sampleRecords(recordCount)
    var results: [[Run]] = windows.map { _ in [] }
    // In turn, so that what else the machine does concerns all windows.
    for _ in 0..<runs {
      for (index, window) in windows.enumerated() {
        let (threads, report) = runDaemon(feedstore, records, windowMilliseconds: window)
        let perTransaction = max(1, recordCount / max(1, report.sum(of: "transactions")))
        let stages = await StoreStages.measure(records, recordsPerWindow: perTransaction)
        results[index].append(Run(threads: threads, stages: stages, report: report))
      }
    }
    print(results)
  }

  // MARK: Input

  /// Content updates with values of exactly `valueBytes`.
  static func sampleRecords(_ count: Int) -> [(feed: String, text: String)] {
    var random = RandomNumbers(seed: 11)
    return (0..<count).map { _ in
      let feed = "feed-\(random.below(feedCount))"
      let start =
        #"{"op":"item.upsert","item":"\#(SampleData.id(random.below(itemsPerFeed)))","#
        + #""section":"stories","kind":"story","data":"#
      let data = SampleData.object(random.next(), count: valueBytes - start.utf8.count - 1)
      return (feed, start + data + "}")
    }
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
    let address = daemon.readLine()
    daemon.wait(for: " restored ", seconds: 30)
    var before: [ThreadTime] = []
    publish(feedstore, records, recordsPerSecond, to: address) { before = ThreadTime.all(of: daemon.id) }
    // For what is still on its way.
    sleep(1)
    let after = ThreadTime.all(of: daemon.id)
    let report = DaemonReport(daemon.stop())
    let read = report.sum(of: "records")
    guard read == recordCount else {
      BenchmarksCommand.fail("the embedded broker dropped \(recordCount - read) of \(recordCount) records")
    }
    guard let threads = DaemonThreads(from: before, to: after) else {
      let names = after.map(\.name).joined(separator: ", ")
      BenchmarksCommand.fail("whose the daemon's threads are cannot be told: \(names)")
    }
    return (threads, report)
  }

  /// Sends records to a daemon's broker at a rate.
  ///
  /// - Parameter onStart: called before the first is sent.
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

  private static func print(_ results: [[Run]]) {
    var table = MarkdownTable(
      ["processor seconds per million records"] + windows.map { "window of \($0) ms" }
    )
    func add(_ name: String, _ value: (Run) -> Double) {
      let cells = results.map { runs in
        let values = runs.map(value).sorted()
        return Format.decimal(values[values.count / 2] / Double(recordCount) * 1e6 / 1e9)
      }
      table.add([name] + cells)
    }
    func addNumbers(_ name: String, _ text: (DaemonReport) -> String) {
      table.add([name] + results.map { text($0[$0.count / 2].report) })
    }
    add("consume: threads of the consumer") { Double($0.threads.consumer) }
    add("decode") { Double($0.stages.decode) }
    add("apply") { Double($0.stages.apply) }
    add("plan and encode") { Double($0.stages.publish) }
    add("calls of the clients, and what is left of the worker", \.calls)
    add("produce: threads of the producer") { Double($0.threads.producer) }
    add("**all**") { Double($0.total) }
    addNumbers("records in") { Format.grouped($0.sum(of: "records")) }
    addNumbers("bytes in") { $0.text(of: "bytes in") }
    addNumbers("transactions") { Format.grouped($0.sum(of: "transactions")) }
    addNumbers("changesets out") { Format.grouped($0.sum(of: "changesets")) }
    addNumbers("bytes out") { $0.text(of: "bytes out") }
    Swift.print("### The way from Kafka to Kafka\n\nMedians of \(runs) runs.\n")
    Swift.print(table.text)
  }
}
