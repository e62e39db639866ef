import CBareLoop
import Glibc
import Workloads

/// The latency of an update from the producer's call to a reader of committed records, compared with a bare loop in C.
enum LatencyCost {
  private static let feedCount = 100
  private static let itemsPerFeed = 100
  private static let recordBytes = 238
  private static let runs = 3

  private struct Load {
    var name: String
    /// The window of both, in milliseconds; for the loop, `idleWindow`, as it has no other.
    var windowMilliseconds: Int
    var loopMilliseconds: Int
    var intervalNanoseconds: UInt64
    /// The number of updates sent before measuring.
    var warmUp: Int
    var count: Int
    var recordsPerLoopOutput: Int
  }

  private static let loads = [
    Load(
      name: "5,000 updates/s, window of 100 ms",
      windowMilliseconds: 100,
      loopMilliseconds: 100,
      intervalNanoseconds: 200_000,
      warmUp: 10_000,
      count: 50_000,
      recordsPerLoopOutput: 2
    ),
    Load(
      name: "5,000 updates/s, window of 20 ms",
      windowMilliseconds: 20,
      loopMilliseconds: 20,
      intervalNanoseconds: 200_000,
      warmUp: 10_000,
      count: 50_000,
      recordsPerLoopOutput: 2
    ),
    // The loop waits as long as the daemon's idle window after the first record.
    Load(
      name: "an update every 2 s, window of 100 ms",
      windowMilliseconds: 100,
      loopMilliseconds: 10,
      intervalNanoseconds: 2_000_000_000,
      warmUp: 2,
      count: 30,
      recordsPerLoopOutput: 1
    ),
  ]

  static func run(feedstore: String, runs: Int?) {
    let runs = runs ?? Self.runs
    let cluster = BenchmarkCluster(feedstore: feedstore)
    var table = MarkdownTable(
      "",
      "daemon, p50",
      "p99",
      "bare loop in C, p50",
      "p99",
      "daemon to loop, p50",
      "p99"
    )
    for (index, load) in loads.enumerated() {
      var daemons: [Samples] = []
      var loops: [Samples] = []
      // Alternating, so that other load on the machine affects both equally.
      for number in 0..<runs {
        let name = "feedstore.benchmark.\(getpid()).\(index)-\(number)"
        let loop = BenchmarkCluster.Program.bareLoop(
          window: load.loopMilliseconds,
          recordsPerOutput: load.recordsPerLoopOutput
        )
        loops.append(measure(loop, load, cluster, name + ".loop"))
        let daemon = BenchmarkCluster.Program.daemon(settings: ["coalesce.window=\(load.windowMilliseconds)"])
        daemons.append(measure(daemon, load, cluster, name + ".daemon"))
      }
      func cells(_ value: (Samples) -> Double) -> (String, String, String) {
        let ratios = zip(daemons, loops).map { value($0) / value($1) }
        return (
          Format.milliseconds(median(daemons.map(value))), Format.milliseconds(median(loops.map(value))),
          Format.decimal(median(ratios))
        )
      }
      let (p50, p99) = (cells(\.median), cells(\.p99))
      table.add(load.name, p50.0, p99.0, p50.1, p99.1, p50.2, p99.2)
    }
    print("### From the producer's call to a reader of committed records\n")
    print(
      """
      Updates of \(recordBytes) bytes with their keys, of \(feedCount) feeds with \(itemsPerFeed) items each, in one \
      partition, from a producer with `linger.ms=0`; defaults, one worker; on \(cluster.description). The loop commits as \
      often and writes every second record, and each where there is one every 2 s. Medians of \(runs) runs by turns.

      """
    )
    print(table.text)
  }

  private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  private static func measure(
    _ program: BenchmarkCluster.Program,
    _ load: Load,
    _ cluster: BenchmarkCluster,
    _ name: String
  ) -> Samples {
    let topics = BenchmarkCluster.Topics(items: name + ".items", name: name)
    cluster.create(topics)
    defer { cluster.deleteOutput(of: topics) }
    let process = cluster.start(program, group: name, on: topics)
    let sender = openSender(cluster.address, topics.items, "0")
    // Creates every item.
    let itemCount = feedCount * itemsPerFeed
    for number in 0..<itemCount { send(sender, number, nil) }
    cluster.wait(for: itemCount, by: name, of: topics, while: process, seconds: 60)

    let total = load.warmUp + load.count
    let reader = openArrivalReader(cluster.address, topics.changesets, total)
    let processor = process.processorNanoseconds
    var random = RandomNumbers(seed: 13)
    var sent: [UInt64] = []
    sent.reserveCapacity(total)
    let start = now()
    for number in 0..<total {
      sleep(until: start + UInt64(number) * load.intervalNanoseconds)
      sent.append(now())
      send(sender, random.below(itemCount), number)
    }
    closeSender(sender)
    cluster.wait(for: itemCount + total, by: name, of: topics, while: process, seconds: 60)
    let used = process.processorNanoseconds - processor
    // Committed records reach the reader soon.
    usleep(500_000)
    guard let times = closeArrivalReader(reader) else { BenchmarksCommand.fail("no memory") }
    defer { free(times) }
    var samples = Samples()
    for number in load.warmUp..<total where times[number] > 0 {
      samples.add(UInt64(times[number]) - sent[number])
    }
    _ = process.stop()
    let quantiles = "p50 \(Format.milliseconds(samples.median)), p99 \(Format.milliseconds(samples.p99))"
    let counts = "\(samples.count) of \(load.count)"
    let line = "\(name): \(load.name): \(quantiles), \(counts), \(Format.seconds(Double(used))) of processor"
    BenchmarksCommand.note(line)
    return samples
  }

  /// Sends an update of an item, with a number in its data if there is one.
  private static func send(_ sender: OpaquePointer?, _ item: Int, _ number: Int?) {
    let key = "feed-\(item % feedCount)"
    var text =
      #"{"op":"item.upsert","item":"\#(SampleData.id(item / feedCount))","section":"stories","data":{"#
    if let number { text += #""n":\#(number),"# }
    text += #""text":""#
    let missing = recordBytes - key.utf8.count - text.utf8.count - 3
    text += String(repeating: "x", count: missing) + #""}}"#
    sendRecord(sender, key, key.utf8.count, text, text.utf8.count)
  }

  private static func sleep(until time: UInt64) {
    var left = timespec(tv_sec: Int(time / 1_000_000_000), tv_nsec: Int(time % 1_000_000_000))
    if now() < time { clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &left, nil) }
  }
}
