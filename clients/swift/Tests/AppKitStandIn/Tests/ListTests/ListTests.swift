import AppKit
import Foundation
import Testing

@testable import FeedStoreClient
@testable import FeedStoreUIOnStandIns

@MainActor struct ListTests {
  @Test(.enabled(if: Checkout.hasCommand)) func `a collection view shows every state of a random history`()
    throws
  {
    var records = RandomRecords(random: SeededRandom("AppKit"), feeds: ["f"])
    let settings = [
      "planner.maxChangedFraction": "0.9", "planner.maxKindFraction": "1000000000",
      "planner.maxBytesRatio": "1000000000", "coalesce.window": "0",
    ]
    let feed = FeedStore(URL(string: "http://127.0.0.1:9")!).feed("f")
    let collectionView = NSCollectionView()
    collectionView.window = NSWindow()
    let list = FeedCollectionView(collectionView, feed) { collectionView, path, item in
      let cell = collectionView.makeItem(withIdentifier: NSUserInterfaceItemIdentifier(item.kind), for: path)
      cell.text = item.dataText
      return cell
    }
    var replica = Replica("f")
    var diffs = 0
    for changeset in try Replay.changesets(records.lines(600), settings: settings) {
      var outcome = ReplicaOutcome.skipped
      for text in changeset.texts { outcome = try replica.apply(text) }
      guard case .applied(let change) = outcome else { continue }
      let (before, made) = (list.view, list.dataSource.configured)
      list.show(FeedUpdate(kind: change.mode == .reload ? .state : .changed(change), view: replica.view))
      let items = replica.view.sections.flatMap(\.items)
      #expect(list.dataSource.snapshot().itemIdentifiers == items.map(\.id))
      #expect(UIKitRules.violations.isEmpty)
      for item in items { #expect(list.dataSource.cells[item.id]?.text == item.dataText) }
      guard change.mode != .reload, before.exists else { continue }
      diffs += 1
      let reloadedSections = Set(change.sections.reloads.map(\.id))
      let forced = Set((change.items.reconfigures + change.items.reloads).map(\.id))
      let changed = items.filter {
        before.item($0.id) !== $0 || forced.contains($0.id) || reloadedSections.contains($0.section)
      }
      #expect(list.dataSource.configured - made == changed.count)
    }
    #expect(diffs > 50)
  }
}
