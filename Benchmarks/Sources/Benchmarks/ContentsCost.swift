import CBareLoop
import Feed
import FeedStore
import Workloads

/// One content in many feeds: its cost against the same change as one `item.patch` for each feed, and the memory of references.
enum ContentsCost {
  private static let topic = Array("feeds.contents".utf8)
  private static let feedCount = 10_000
  private static let itemsPerFeed = 100
  private static let contentCount = 100_000
  private static let spreads = [1, 1_000, 10_000]
  private static let rounds = 30

  /// How the items of a store have their contents.
  private enum Form: String, CaseIterable {
    case none = "no contents"
    case copies = "copies in the items' data"
    case references = "two references an item"
  }

  static func run() async {
    print("### One content in many feeds\n")
    await measureTimes()
    await measureMemory()
  }

  private static func store() -> PublishingStore {
    var options = FeedStoreOptions()
    options.topics.contents = "feeds.contents"
    options.keyframe.maxDeltas = 500_000
    options.keyframe.maxBytesRatio = 1e9
    return PublishingStore(options: options)
  }

  /// A content of 64 bytes.
  private static func content(_ number: Int) -> String {
    let head = #"{"n":\#(number),"text":""#
    return head + String(repeating: "x", count: 64 - head.utf8.count - 2) + #""}"#
  }

  /// Own data of about 110 bytes.
  private static func data(_ number: Int, _ more: String = "") -> String {
    #"{"id":\#(number),"text":"\#(String(repeating: "y", count: 90))"\#(more)}"#
  }

  private static func publish(_ contents: Range<Int>, to store: inout PublishingStore) async {
    await store.publish(store.makeList(contents.map { ("c\($0)", content($0)) }, topic: topic))
  }

  // MARK: Time

  private static func measureTimes() async {
    var table = MarkdownTable(
      "a content in",
      "change all items",
      "publish",
      "bytes of input",
      "as patches: apply",
      "publish",
      "bytes of input",
      "processor time of both"
    )
    for count in spreads {
      var store = store()
      await publish(0..<1, to: &store)
      for feed in 0..<feedCount {
        let refs = feed < count ? #","refs":{"c":"c0"}"# : ""
        let items = (0..<itemsPerFeed).map {
          #"{"id":"i\#($0)","data":\#(data($0))\#($0 == 50 ? refs : "")}"#
        }
        let event = #"{"op":"section.replace","section":"s","items":[\#(items.joined(separator: ","))]}"#
        await store.apply([("f\(feed)", event)])
      }
      await store.publish()
      var (shown, patched) = ((apply: Samples(), publish: Samples()), (apply: Samples(), publish: Samples()))
      var (contentBytes, patchBytes) = (0, 0)
      for round in 1...rounds {
        let change = [("c0", content(round))]
        let patches = (0..<count).map { feed in
          (
            "f\(feed)",
            #"{"op":"item.patch","item":"i49","data":{"text":"\#(round)\#(content(round).count)"}}"#
          )
        }
        contentBytes = change.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count }
        patchBytes = patches.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count }
        let a = await measure(store, store.makeList(change, topic: topic))
        let b = await measure(store, store.makeList(patches))
        if round == 1 { continue }
        shown.apply.add(a.apply)
        shown.publish.add(a.publish)
        patched.apply.add(b.apply)
        patched.publish.add(b.publish)
      }
      let (new, old) = (
        shown.apply.median + shown.publish.median, patched.apply.median + patched.publish.median
      )
      table.add(
        count == 1 ? "1 feed" : "\(Format.grouped(count)) feeds",
        Format.microseconds(shown.apply.median),
        Format.microseconds(shown.publish.median),
        Format.grouped(contentBytes),
        Format.microseconds(patched.apply.median),
        Format.microseconds(patched.publish.median),
        Format.grouped(patchBytes),
        Format.decimal(new / old) + "×"
      )
    }
    print(table.text)
  }

  private static func measure(
    _ store: PublishingStore,
    _ list: RecordList
  ) async -> (apply: UInt64, publish: UInt64) {
    let started = now()
    await store.apply(list)
    let applied = now()
    await store.publish()
    return (applied - started, now() - applied)
  }

  // MARK: Memory

  private static func measureMemory() async {
    var table = MarkdownTable(
      "1,000,000 items, 100,000 contents of 64 bytes",
      "memory",
      "an item",
      "a reference, beyond copies"
    )
    var bytes: [Form: Int] = [:]
    let references = 2 * feedCount * itemsPerFeed
    for form in Form.allCases {
      let used = await memory(of: form)
      bytes[form] = used
      let beyond = form == .references ? "\((used - (bytes[.copies] ?? 0)) / references) B" : ""
      table.add(form.rawValue, Format.megabytes(used), "\(used / (references / 2)) B", beyond)
    }
    print(table.text)
  }

  private static func memory(of form: Form) async -> Int {
    let before = allocatedBytes()
    var store = store()
    if form == .references { await publish(0..<contentCount, to: &store) }
    var random = RandomNumbers(seed: 1)
    for feed in 0..<feedCount {
      let items = (0..<itemsPerFeed).map { item -> String in
        let (a, b) = (random.below(contentCount), random.below(contentCount))
        switch form {
        case .none: return #"{"id":"i\#(item)","data":\#(data(item))}"#
        case .copies:
          return #"{"id":"i\#(item)","data":\#(data(item, #","a":\#(content(a)),"b":\#(content(b))"#))}"#
        case .references:
          return #"{"id":"i\#(item)","data":\#(data(item)),"refs":{"a":"c\#(a)","b":"c\#(b)"}}"#
        }
      }
      await store.publish([
        ("f\(feed)", #"{"op":"section.replace","section":"s","items":[\#(items.joined(separator: ","))]}"#)
      ])
    }
    return Int(allocatedBytes()) - Int(before)
  }

}
