import Workloads

/// Cost follows change: the cost of 100 updates, moves and inserts in feeds of very different sizes.
enum ChangeCost {
  private static let sizes = [1_000, 10_000, 100_000, 1_000_000]
  private static let changeCount = 100
  private static let warmUpRounds = 50
  private static let rounds = 400

  private enum Change: String, CaseIterable {
    case update = "100 content updates"
    case move = "100 moves"
    case insert = "100 inserts"
    case together = "all 300 together"
  }

  private struct Result {
    var apply = Samples()
    var flush = Samples()
    var total = Samples()
  }

  static func run() async {
    var results: [Change: [Result]] = [:]
    for size in sizes {
      var feed = await MeasuredFeed(itemCount: size)
      var random = RandomNumbers(seed: UInt64(size))
      var freshNumber = 10_000_000
      for change in Change.allCases {
        var result = Result()
        for round in 0..<warmUpRounds + rounds {
          var inserted: [String] = []
          let records = records(of: change, size, &random, &freshNumber, &inserted)
          let cost = await feed.change(records)
          if !inserted.isEmpty {
            // Not measured: keeps the feed's size.
            _ = await feed.change(inserted.map { #"{"op":"item.delete","item":"\#($0)"}"# })
          }
          guard round >= warmUpRounds else { continue }
          result.apply.add(cost.apply)
          result.flush.add(cost.flush)
          result.total.add(cost.total)
        }
        results[change, default: []].append(result)
      }
      let reloads = await feed.reloadCount
      precondition(reloads == 1, "\(reloads - 1) measured changesets were reloads")
    }
    print(results)
  }

  private static func records(
    of change: Change,
    _ size: Int,
    _ random: inout RandomNumbers,
    _ freshNumber: inout Int,
    _ inserted: inout [String]
  ) -> [String] {
    var records: [String] = []
    for _ in 0..<changeCount {
      if change == .update || change == .together {
        let data = SampleData.object(random.next())
        records.append(
          #"{"op":"item.upsert","item":"\#(SampleData.id(random.below(size)))","data":\#(data)}"#
        )
      }
      if change == .move || change == .together {
        records.append(
          #"{"op":"item.move","item":"\#(SampleData.id(random.below(size)))","at":{"index":\#(random.below(size))}}"#
        )
      }
      if change == .insert || change == .together {
        let id = SampleData.id(freshNumber)
        freshNumber += 1
        inserted.append(id)
        records.append(SampleData.insertion(of: id, number: random.next(), at: random.below(size)))
      }
    }
    return records
  }

  private static func print(_ results: [Change: [Result]]) {
    var table = MarkdownTable(
      "change",
      "items in the feed",
      "apply, median",
      "flush, median",
      "total, median",
      "total, p90",
      "against \(Format.grouped(sizes[0])) items"
    )
    for change in Change.allCases {
      guard let results = results[change] else { continue }
      for (size, result) in zip(sizes, results) {
        table.add(
          change.rawValue,
          Format.grouped(size),
          Format.microseconds(result.apply.median),
          Format.microseconds(result.flush.median),
          Format.microseconds(result.total.median),
          Format.microseconds(result.total.p90),
          Format.decimal(result.total.median / results[0].total.median) + "×"
        )
      }
    }
    Swift.print("### Cost follows change\n")
    Swift.print(table.text)
  }
}
