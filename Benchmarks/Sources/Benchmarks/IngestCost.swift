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
    let schema = "/tmp/feedstore-benchmark-\(getpid()).avsc"
    let fields =
      #"{"name":"status","type":"string"},{"name":"kind","type":"string"},{"name":"more","type":"string"}"#
    write(#"{"type":"record","name":"Row","fields":[{"name":"id","type":"long"},\#(fields)]}"#, to: schema)
    defer { unlink(schema) }
    for isAvro in [false, true] {
      let name = "feedstore.benchmark.\(getpid()).\(isAvro ? "avro" : "json")"
      let rows = BenchmarkCluster.Topics(items: name + ".rows", name: name)
      cluster.create(rows)
      fill(cluster, rows.items, isAvro: isAvro)
      var settings = ["ingest.sources=\(source(rows.items, isAvro: isAvro))"]
      if isAvro { settings.append("ingest.schemaFiles.0=\(schema)") }
      var (mappings, loops): ([BacklogCost.Run], [BacklogCost.Run]) = ([], [])
      // Alternating, so that other load on the machine affects both equally.
      for number in 0..<runs {
        for (program, word) in [
          (BenchmarkCluster.Program.bareLoop(window: windowMilliseconds, recordsPerOutput: 1), "loop"),
          (.ingest(settings: settings), "ingest"),
        ] {
          let run = BacklogCost.measure(
            program,
            cluster,
            rows.items,
            "\(name).\(word)-\(number)",
            count: rowCount
          )
          if word == "loop" { loops.append(run) } else { mappings.append(run) }
        }
      }
      Swift.print(
        isAvro
          ? "### Mapping rows in Avro\n"
          : "### Mapping rows\n"
      )
      Swift.print(
        """
        \(Format.grouped(rowCount)) rows of 300 bytes with their keys, in one partition, with a mapping of four \
        templates; on \(cluster.description). The loop has windows of \(windowMilliseconds) ms and copies every row. From \
        when a program reads until its group has committed all; medians of \(runs) runs by turns.

        """
      )
      Swift.print(BacklogCost.table("ingest", mappings, loops).text)
    }
  }

  private static func source(_ topic: String, isAvro: Bool) -> String {
    """
    [{topic: "\(topic)", feed: "customer-{key/customer}", section: "{/status}", item: "order-{key/id}", \
    kind: "{/kind}", format: "\(isAvro ? "avro" : "json")"}]
    """
  }

  private static func fill(_ cluster: BenchmarkCluster, _ topic: String, isAvro: Bool) {
    let sender = openSender(cluster.address, topic, "5")
    var random = RandomNumbers(seed: 12)
    for _ in 0..<rowCount {
      let id = random.below(100_000)
      let status = id % 3 == 0 ? "open" : "shipped"
      let key = #"{"customer":\#(id % 1_000),"id":\#(id)}"#
      let start = #"{"id":\#(id),"status":"\#(status)","kind":"order","more":"#
      let more = SampleData.object(random.next(), count: 300 - key.utf8.count - start.utf8.count - 1)
      let value = isAvro ? avro(id, [status, "order", more]) : Array((start + more + "}").utf8)
      value.withUnsafeBytes {
        sendRecord(sender, key, key.utf8.count, $0.bindMemory(to: CChar.self).baseAddress, value.count)
      }
    }
    closeSender(sender)
  }

  /// A row in Confluent's wire format, with schema 0.
  private static func avro(_ id: Int, _ texts: [String]) -> [UInt8] {
    var bytes: [UInt8] = [0, 0, 0, 0, 0]
    func append(_ number: Int) {
      var rest = number << 1
      while rest > 0x7f {
        bytes.append(UInt8(rest & 0x7f | 0x80))
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }
    append(id)
    for text in texts {
      append(text.utf8.count)
      bytes += text.utf8
    }
    return bytes
  }

  private static func write(_ text: String, to path: String) {
    guard let file = fopen(path, "w") else { BenchmarksCommand.fail("\(path) cannot be written") }
    fputs(text, file)
    fclose(file)
  }
}
