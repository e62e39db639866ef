import CBareLoop
import Glibc
import Workloads

/// How fast a backlog is processed, at what cost, and with how much memory, compared with a bare loop in C.
enum BacklogCost {
  static let feedCount = 100
  static let itemsPerFeed = 1_000
  private static let recordCount = 1_100_000
  /// The size of key and value, in bytes.
  private static let recordBytes = 238
  private static let windowMilliseconds = 100
  private static let runs = 5

  struct Run {
    /// From the start of reading until everything is committed.
    var records: Int
    var nanoseconds: UInt64
    var processorNanoseconds: UInt64
    var peakBytes: Int
    var recordsPerSecond: Double { Double(records) * 1e9 / Double(nanoseconds) }
    var secondsPerMillion: Double { Double(processorNanoseconds) / 1e9 / Double(records) * 1e6 }
  }

  static func run(feedstore: String, runs: Int?) {
    let runs = runs ?? Self.runs
    let cluster = BenchmarkCluster(feedstore: feedstore)
    let name = "feedstore.benchmark.\(getpid())"
    let input = BenchmarkCluster.Topics(items: name + ".items", name: name)
    cluster.create(input)
    fill(cluster, input.items)
    var daemons: [Run] = []
    var loops: [Run] = []
    // Alternating, so that other load on the machine affects both equally.
    for number in 0..<runs {
      let loop = BenchmarkCluster.Program.bareLoop(window: windowMilliseconds, recordsPerOutput: 2)
      loops.append(measure(loop, cluster, input.items, "\(name).loop-\(number)"))
      daemons.append(measure(.daemon(settings: []), cluster, input.items, "\(name).daemon-\(number)"))
    }
    print(daemons, loops, cluster)
  }

  /// First creates every item, then updates items at random.
  private static func fill(_ cluster: BenchmarkCluster, _ topic: String) {
    let sender = openSender(cluster.address, topic, "5")
    var random = RandomNumbers(seed: 12)
    for number in 0..<recordCount {
      let isNew = number < feedCount * itemsPerFeed
      let feed = isNew ? number % feedCount : random.below(feedCount)
      let item = isNew ? number / feedCount : random.below(itemsPerFeed)
      let key = "feed-\(feed)"
      let value = update(of: item, random.next(), count: recordBytes - key.utf8.count)
      sendRecord(sender, key, key.utf8.count, value, value.utf8.count)
    }
    closeSender(sender)
  }

  private static func update(of item: Int, _ number: UInt64, count: Int) -> String {
    let start = #"{"op":"item.upsert","item":"\#(SampleData.id(item))","section":"stories","data":"#
    return start + SampleData.object(number, count: count - start.utf8.count - 1) + "}"
  }

  static func measure(
    _ program: BenchmarkCluster.Program,
    _ cluster: BenchmarkCluster,
    _ input: String,
    _ name: String,
    count: Int = recordCount
  ) -> Run {
    let topics = BenchmarkCluster.Topics(items: input, name: name)
    cluster.create(topics)
    defer { cluster.deleteOutput(of: topics) }
    let process = cluster.start(program, group: name, on: topics)
    let start = now()
    let processor = process.processorNanoseconds
    cluster.wait(for: count, by: name, of: topics, while: process, seconds: 120)
    let run = Run(
      records: count,
      nanoseconds: now() - start,
      processorNanoseconds: process.processorNanoseconds - processor,
      peakBytes: process.peakBytes
    )
    let report = process.stop()
    let rate = "\(Format.grouped(Int(run.recordsPerSecond))) records/s"
    let line =
      "\(name): \(rate), \(Format.decimal(run.secondsPerMillion)) s, \(Format.megabytes(run.peakBytes))"
    BenchmarksCommand.note(line)
    if getenv("FEEDSTORE_BENCHMARK_REPORTS") != nil { BenchmarksCommand.note(report) }
    return run
  }

  private static func print(_ daemons: [Run], _ loops: [Run], _ cluster: BenchmarkCluster) {
    let table = table("daemon", daemons, loops)
    Swift.print("### A backlog\n")
    Swift.print(
      """
      \(Format.grouped(recordCount)) records of \(recordBytes) bytes with their keys, of \(feedCount) feeds with \
      \(Format.grouped(itemsPerFeed)) items each, in one partition; defaults, one worker; on \(cluster.description). \
      The loop has windows of \(windowMilliseconds) ms and writes every second record. From when a program reads until \
      its group has committed all; medians of \(daemons.count) runs by turns.

      """
    )
    Swift.print(table.text)
  }

  /// What programs and loops have taken, by turns.
  static func table(_ name: String, _ programs: [Run], _ loops: [Run]) -> MarkdownTable {
    var table = MarkdownTable("", name, "bare loop in C", "\(name) to loop")
    func add(_ name: String, _ value: (Run) -> Double, _ format: (Double) -> String) {
      // The ratios of consecutive runs, so that a machine that slows down has no effect.
      let ratios = zip(programs, loops).map { value($0) / value($1) }
      table.add(
        name,
        format(median(programs.map(value)) ?? 0),
        format(median(loops.map(value)) ?? 0),
        Format.decimal(median(ratios) ?? 0)
      )
    }
    add("records/s", \.recordsPerSecond) { Format.grouped(Int($0)) }
    add("processor seconds per million records", \.secondsPerMillion, Format.decimal)
    add("most memory", { Double($0.peakBytes) }, { Format.megabytes(Int($0)) })
    return table
  }

  private static func median(_ values: [Double]) -> Double? {
    values.isEmpty ? nil : values.sorted()[values.count / 2]
  }
}
