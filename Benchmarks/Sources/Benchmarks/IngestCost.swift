import CBareLoop
import Glibc
import Workloads

/// How fast `feedstore ingest` maps rows, at what cost, compared with a bare loop in C that copies them.
enum IngestCost {
  private static let rowCount = 500_000
  private static let windowMilliseconds = 100
  private static let runs = 5

  static func run(feedstore: String, runs: Int?) {
    let runs = runs ?? Self.runs
    let cluster = BenchmarkCluster(feedstore: feedstore)
    let name = "feedstore.benchmark.\(getpid())"
    let rows = BenchmarkCluster.Topics(items: name + ".rows", name: name)
    cluster.create(rows)
    fill(cluster, rows.items)
    var mappings: [BacklogCost.Run] = []
    var loops: [BacklogCost.Run] = []
    // Alternating, so that other load on the machine affects both equally.
    for number in 0..<runs {
      let loop = BenchmarkCluster.Program.bareLoop(window: windowMilliseconds, recordsPerOutput: 1)
      loops.append(BacklogCost.measure(loop, cluster, rows.items, "\(name).loop-\(number)", count: rowCount))
      let ingest = BenchmarkCluster.Program.ingest(source: source(rows.items))
      mappings.append(
        BacklogCost.measure(ingest, cluster, rows.items, "\(name).ingest-\(number)", count: rowCount)
      )
    }
    Swift.print("### Mapping rows\n")
    Swift.print(
      """
      \(Format.grouped(rowCount)) rows in JSON, of 300 bytes with their keys, in one partition, with a mapping of four \
      templates; on \(cluster.description). The loop has windows of \(windowMilliseconds) ms and copies every row. From when a \
      program reads until its group has committed all; medians of \(runs) runs by turns.

      """
    )
    Swift.print(BacklogCost.table("ingest", mappings, loops).text)
  }

  private static func source(_ topic: String) -> String {
    """
    [{topic: "\(topic)", feed: "customer-{key/customer}", section: "{/status}", item: "order-{key/id}", kind: "{/kind}"}]
    """
  }

  private static func fill(_ cluster: BenchmarkCluster, _ topic: String) {
    let sender = openSender(cluster.address, topic, "5")
    var random = RandomNumbers(seed: 12)
    for _ in 0..<rowCount {
      let id = random.below(100_000)
      let key = #"{"customer":\#(id % 1_000),"id":\#(id)}"#
      let start = #"{"id":\#(id),"status":"\#(id % 3 == 0 ? "open" : "shipped")","kind":"order","more":"#
      let count = 300 - key.utf8.count - start.utf8.count - 1
      let value = start + SampleData.object(random.next(), count: count) + "}"
      sendRecord(sender, key, key.utf8.count, value, value.utf8.count)
    }
    closeSender(sender)
  }
}
