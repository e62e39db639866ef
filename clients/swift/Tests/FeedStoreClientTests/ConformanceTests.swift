import Foundation
import Testing

@testable import FeedStoreClient

@Suite(.enabled(if: Checkout.hasVectors)) struct ConformanceTests {
  @Test(arguments: Checkout.vectors("replica")) func `the replica passes every vector`(_ name: String) throws
  {
    var partitions: [Int: ReplicaPartition] = [:]
    for (number, line) in try Checkout.lines(name).enumerated() {
      let partition = try #require(line["partition"]?.count)
      let key = try #require(line["key"]?.string)
      // Bytes that are not UTF-8 are no changeset.
      let value = line["payloadBase64"] == nil ? line["payload"]?.string : ""
      var isRefused = false
      do { _ = try partitions[partition, default: ReplicaPartition()].apply(key: key, value: value) } catch {
        isRefused = true
      }
      let place: Comment = "\(name), line \(number + 1), key \(key)"
      guard let then = JSONObject(line["then"]) else {
        #expect(isRefused, place)
        continue
      }
      let replica = partitions[partition]?.replicas[FeedID(try #require(then["feed"]?.string))]
      #expect(replica?.isStale ?? false == (then["stale"]?.text == "true"), place)
      #expect(replica?.isWaiting ?? false == (then["waiting"]?.text == "true"), place)
      #expect(replica?.view.epoch == then["epoch"]?.string, place)
      #expect(replica?.view.revision == then["revision"]?.count, place)
      #expect(replica?.view.checksum == then["checksum"]?.string, place)
      if let sections = then["sections"] { #expect(replica?.view.state.document == sections.text, place) }
    }
  }

  @Test(arguments: Checkout.vectors("window")) func `the replica passes every vector of windows`(
    _ name: String
  ) throws {
    var replicas: [FeedID: [Replica]] = [:]
    for (number, line) in try Checkout.lines(name).enumerated() {
      let place: Comment = "\(name), line \(number + 1)"
      let data = try #require(line["data"]?.string)
      let message = try #require(JSONObject(try JSONText(checking: data)))
      let feed = FeedID(try #require(message["feed"]?.string))
      // The id may be in two partitions: the replica that has the epoch, or one that has nothing.
      let known = replicas[feed] ?? []
      let index =
        known.firstIndex { $0.view.epoch == message["epoch"]?.string }
        ?? known.firstIndex { !$0.view.exists || message["epoch"] == nil } ?? known.count
      var replica = index < known.count ? known[index] : Replica(feed)
      switch line["event"]?.string {
      case "message": _ = try replica.apply(data)
      case "window": replica.setTotals(WindowTotal.list(message["window"]))
      case "must-refetch": replica.expectReload()
      case "absent": _ = replica.remove()
      default: Issue.record("an unknown event", sourceLocation: #_sourceLocation)
      }
      replicas[feed, default: []].replaceSubrange(index..<min(index + 1, known.count), with: [replica])
      let then = try #require(JSONObject(line["then"]))
      let view = replica.view
      #expect(view.epoch == then["epoch"]?.string, place)
      #expect(view.revision == then["revision"]?.count, place)
      #expect(view.checksum == then["checksum"]?.string, place)
      if let sections = then["sections"] { #expect(view.state.document == sections.text, place) }
      if let window = then["window"] {
        let totals = view.sections.map {
          "{\"section\":\(JSONValue.quoted($0.id.rawValue)),\"from\":\($0.from),\"shown\":\($0.items.count),\"of\":\($0.of)}"
        }
        #expect("[\(totals.joined(separator: ","))]" == window.text, place)
      }
    }
  }

  @Test(arguments: ["contents", "ends-random"]) func `items have the end and the references of their entry`(
    _ name: String
  ) throws {
    var partitions: [Int: ReplicaPartition] = [:]
    var count = 0
    for line in try Checkout.lines("store/\(name)/output.ndjson") {
      let partition = try #require(line["partition"]?.count)
      let key = try #require(line["key"]?.string)
      let value = JSONObject(line["value"])
      let text = value == nil ? nil : line["value"]?.text
      _ = try partitions[partition, default: ReplicaPartition()].apply(key: key, value: text)
      let replica = partitions[partition]?.replicas[FeedID(value?["feed"]?.string ?? "")]
      guard let replica, !replica.isWaiting else { continue }
      let lists = JSONObject(value?["items"])
      var entries = ["insert", "reconfigure", "reload"].flatMap { lists?[$0]?.elements ?? [] }
      for section in value?["sections"]?.elements ?? [] {
        entries += JSONObject(section)?["items"]?.elements ?? []
      }
      for entry in entries.compactMap({ JSONObject($0) }) {
        let item = replica.view.item(ItemID(try #require(entry["id"]?.string)))
        let refs = entry["refs"]?.members?.map { [$0.name.string, $0.value.string] }
        #expect(item?.expires == entry["expires"]?.string)
        #expect(item?.refs?.count == refs?.count)
        #expect(refs?.allSatisfy { item?.refs?[$0[0] ?? ""] == $0[1] } ?? true)
        count += entry["refs"] == nil && entry["expires"] == nil ? 0 : 1
      }
    }
    #expect(count > 10)
  }

  @Test func `checksums are as in the vectors`() throws {
    for line in try Checkout.lines("checksum.ndjson") {
      for term in try #require(line["terms"]?.elements).compactMap(JSONObject.init) {
        #expect(hexadecimal(xxh32(Array(try #require(term["text"]?.string).utf8))) == term["xxh32"]?.string)
      }
      let drafts = try ChangesetEntry.list(line["sections"], "sections").map { section in
        var draft = SectionDraft(id: SectionID(try section.id()), dataText: "null")
        draft.items = try ChangesetEntry.list(section.object["items"], "items").map {
          FeedItem(id: ItemID(try $0.id()), kind: try $0.kind(), section: draft.id, dataText: "null")
        }
        return draft
      }
      let state = FeedState(drafts: drafts, reusing: FeedState())
      #expect(hexadecimal(FeedState.checksum(of: state.sections)) == line["checksum"]?.string)
    }
  }

  @Test func `keys are parsed as in the vectors`() throws {
    for line in try Checkout.lines("keys.ndjson") {
      let key = try #require(line["key"]?.string)
      let parts = try? ReplicaPartition.parts(ofKey: key)
      #expect(parts.map { $0.isReload ? "k" : "d" } == line["kind"]?.string, "\(key)")
      guard let parts else { continue }
      #expect(parts.number == line["number"]?.count, "\(key)")
      #expect(parts.feed == line["feed"]?.string.map { FeedID($0) }, "\(key)")
    }
  }
}

@Suite(.enabled(if: Checkout.hasVectors)) struct OverlayTests {
  private func sections(_ text: JSONText?) throws -> [SectionDraft] {
    try (text?.elements ?? []).map { text in
      let value = try #require(JSONObject(text))
      let id = SectionID(value["id"]?.string ?? "")
      let keys = value["order"]?.elements?.compactMap { JSONObject($0) }.map {
        OrderKey(by: $0["by"]?.string ?? "", isDescending: $0["direction"]?.string == "descending")
      }
      var draft = SectionDraft(
        id: id,
        dataText: value["data"]?.compactText ?? "",
        order: keys,
        keep: value["keep"]?.count
      )
      draft.items = (value["items"]?.elements ?? []).compactMap { JSONObject($0) }.map {
        FeedItem(
          id: ItemID($0["id"]?.string ?? ""),
          kind: $0["kind"]?.string ?? "",
          section: id,
          dataText: $0["data"]?.compactText ?? ""
        )
      }
      (draft.from, draft.total) = (value["from"]?.count ?? 0, value["of"]?.count)
      return draft
    }
  }

  /// The compared parts of a section.
  private func plain(_ section: FeedSection) -> [String] {
    let items = section.items.map { "\($0.id) \($0.kind) \($0.data.text)" }
    return [
      "\(section.id) \(section.data.text) \(section.from)/\(section.of) \(section.order ?? []) \(section.keep ?? 0)"
    ] + items
  }

  @Test(arguments: Checkout.vectors("pending")) func `pending writes show what the vectors say`(
    _ name: String
  ) throws {
    for line in try Checkout.lines(name) {
      let title = Comment(rawValue: line["title"]?.string ?? "")
      let confirmed = FeedState(drafts: try sections(line["state"]), reusing: FeedState())
      let shown = FeedWindow(JSONObject(line["window"]))
      let writes = (line["writes"]?.elements ?? []).map { PendingOperation.list($0.text) }
      let overlay = PendingOverlay(writes, window: shown)
      let (state, isPending) = overlay.applied(to: confirmed, former: FeedState())
      let expected = FeedState(drafts: try sections(line["shown"]), reusing: FeedState())
      #expect(state.sections.map(plain) == expected.sections.map(plain), title)
      #expect(isPending || state.sections.map(plain) == confirmed.sections.map(plain), title)
      for item in state.sections.flatMap(\.items) {
        let original = confirmed.itemsById[item.id]
        if let original, original.equals(item.with(isPending: false)) {
          // Only one that moved is another object.
          #expect(original === item || item.isPending, title)
        } else {
          #expect(item.isPending, title)
        }
      }
      // Applied again, nothing is another object.
      let again = overlay.applied(to: confirmed, former: state).0
      #expect(zip(again.sections, state.sections).allSatisfy { $0 === $1 }, title)
      let none = PendingOverlay([], window: shown).applied(to: confirmed, former: state)
      #expect(!none.isPending && none.0.document == confirmed.document, title)
    }
  }
}
