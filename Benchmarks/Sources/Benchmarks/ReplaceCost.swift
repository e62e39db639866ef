@_spi(Measuring) import Feed
import Workloads

/// The cost, by step, of replacing a feed with one that is nearly the same.
enum ReplaceCost {
  private static let itemCount = 100_000
  private static let deletedCount = 10_000
  private static let insertedCount = 10_000
  private static let movedCount = 2_000
  private static let rounds = 21

  private struct Steps {
    var decode = Samples()
    var apply = Samples()
    var difference = Samples()
    var plan = Samples()
    var write = Samples()
    var confirm = Samples()
    var counts = PublicationOutcome.EntryCounts()
    var mostMoves = 0
  }

  static func run() {
    var table = MarkdownTable("step", "items with kind and data", "ids of known items only")
    let full = measure(idsOnly: false)
    let brief = measure(idsOnly: true)
    func add(_ step: String, _ samples: KeyPath<Steps, Samples>) {
      table.add(
        step,
        Format.milliseconds(full[keyPath: samples].median),
        Format.milliseconds(brief[keyPath: samples].median)
      )
    }
    add("decode", \.decode)
    add("apply", \.apply)
    add("difference", \.difference)
    add("plan: the difference again, and its encoding", \.plan)
    add("write", \.write)
    add("confirm", \.confirm)
    func addCount(_ name: String, _ count: (Steps) -> Int) {
      table.add(name, Format.grouped(count(full)), Format.grouped(count(brief)))
    }
    addCount("deletes", \.counts.deletes)
    addCount("inserts", \.counts.inserts)
    addCount("moves, at most", \.mostMoves)
    print(
      """
      ### One replacement

      \(Format.grouped(itemCount)) items in one section, of which \(Format.grouped(deletedCount)) are deleted, \
      \(Format.grouped(movedCount)) moved, and \(Format.grouped(insertedCount)) inserted; medians of \(rounds) rounds.

      """
    )
    print(table.text)
  }

  private static func measure(idsOnly: Bool) -> Steps {
    var limits = Limits()
    limits.maxItems = 2 * itemCount
    var planner = PlannerThresholds()
    // By default, so large a change is published as a reload without computing the difference.
    planner.maxChanges = .max
    var keyframes = KeyframePolicy()
    keyframes.maxDeltas = .max
    keyframes.maxBytesRatio = .greatestFiniteMagnitude
    let decoder = RecordDecoder(limits: limits)
    let publisher = ChangesetPublisher(planner: planner, keyframes: keyframes, output: OutputOptions())
    let feed = PublishedFeed(id: ByteSpan("feed"))
    let buffer = RecordBuffer()

    var replaced = ReplacedFeed(
      itemCount: itemCount,
      deletedCount: deletedCount,
      movedCount: movedCount,
      insertedCount: insertedCount
    )
    var steps = Steps()
    for round in 0...rounds {
      var text = replaced.next(idsOnly: idsOnly)
      text.withUTF8 { bytes in
        let position = RecordPosition(topic: Array("feeds.items".utf8), offset: Int64(round), timestamp: 0)
        var times = [now()]
        do {
          try decoder.decode(key: feed.id, value: ByteSpan(UnsafeRawBufferPointer(bytes)))
          times.append(now())
          try feed.apply(decoder, at: position) { _ in }
        } catch {
          preconditionFailure("the record was rejected: \(error)")
        }
        times.append(now())
        let counts = feed.differenceCounts()
        times.append(now())
        let outcome = publisher.begin(feed)
        times.append(now())
        while publisher.writeNext(to: buffer) { if buffer.bytes.count > 4 << 20 { buffer.removeAll() } }
        times.append(now())
        feed.confirm()
        times.append(now())
        buffer.removeAll()
        // The first round fills the feed.
        guard round > 0 else { return }
        precondition(
          outcome?.mode == .diff && outcome?.counts == counts,
          "the replacement was not a difference"
        )
        let durations = zip(times, times.dropFirst()).map { $1 - $0 }
        steps.decode.add(durations[0])
        steps.apply.add(durations[1])
        steps.difference.add(durations[2])
        steps.plan.add(durations[3])
        steps.write.add(durations[4])
        steps.confirm.add(durations[5])
        steps.counts = counts
        steps.mostMoves = max(steps.mostMoves, counts.moves)
      }
    }
    return steps
  }
}
