import AppKit
import Foundation
import Testing

@testable import FeedStoreClient
@testable import FeedStoreUIOnStandIns

@MainActor struct ListTests {
  @Test(.enabled(if: Checkout.hasCommand)) func `a collection view shows every state of a random history`()
    throws
  {
    let feed = FeedStore(URL(string: "http://127.0.0.1:9")!).feed("f")
    let collectionView = NSCollectionView()
    collectionView.window = NSWindow()
    let list = FeedCollectionView(collectionView, feed) { collectionView, path, item in
      let cell = collectionView.makeItem(withIdentifier: NSUserInterfaceItemIdentifier(item.kind), for: path)
      cell.text = item.dataText
      return cell
    }
    var diffs = 0
    for update in try Replay.updates("AppKit", records: 600) {
      let (before, made) = (list.view, list.dataSource.configured)
      list.show(update)
      let items = update.view.sections.flatMap(\.items)
      #expect(list.dataSource.snapshot().itemIdentifiers == items.map(\.id))
      #expect(UIKitRules.violations.isEmpty)
      for item in items { #expect(list.dataSource.cells[item.id]?.text == item.dataText) }
      guard case .changed(let change) = update.kind, before.exists else { continue }
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
