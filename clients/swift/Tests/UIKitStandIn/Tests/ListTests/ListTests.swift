import Foundation
import SwiftUI
import Testing
import UIKit

@testable import FeedStoreClient
@testable import FeedStoreUIOnStandIns

/// A feed whose updates the test decides, and the lists that show it.
@MainActor struct ListTests {
  /// Random histories, with the updates that a `Feed` gives for them.
  private func updates(_ name: String) throws -> [FeedUpdate] {
    var records = RandomRecords(random: SeededRandom(name), feeds: ["f"])
    let settings = [
      "planner.maxChangedFraction": "0.9", "planner.maxKindFraction": "1000000000",
      "planner.maxBytesRatio": "1000000000",
      "coalesce.window": "0",
    ]
    var replica = Replica("f")
    return try Replay.changesets(records.lines(1200), settings: settings).compactMap { changeset in
      var outcome = ReplicaOutcome.skipped
      for text in changeset.texts { outcome = try replica.apply(text) }
      switch outcome {
      case .applied(let change):
        return FeedUpdate(kind: change.mode == .reload ? .state : .changed(change), view: replica.view)
      case .removed: return FeedUpdate(kind: .absent, view: replica.view)
      default: return nil
      }
    }
  }

  @Test(.enabled(if: Checkout.hasCommand))
  func `writes are shown in the cells that they change, and taken back`() throws {
    UIKitRules.violations = []
    let collectionView = UICollectionView()
    let list = FeedCollectionView(collectionView, feed()) { collectionView, path, item in
      let cell = collectionView.dequeueReusableCell(withReuseIdentifier: item.kind, for: path)
      cell.text = "\(item.dataText) \(item.isPending)"
      return cell
    }
    var records = RandomRecords(random: SeededRandom("pending"))
    var shown = 0
    for update in try updates("confirmed") {
      list.show(update)
      let events = (0..<3).map { _ in records.event() }
      let writes = events.enumerated().map {
        PendingWrite(id: WriteID(number: $0), operations: PendingOperation.list($1))
      }
      var view = update.view
      let overlay = PendingOverlay(writes, window: .all)
      (view.state, view.isPending) = overlay.applied(to: view.state, former: list.view.state)
      for next in [view, update.view] {
        let (before, configured) = (list.view, list.dataSource.configured)
        list.show(FeedUpdate(kind: .pending, view: next))
        #expect(UIKitRules.violations.isEmpty, "\(UIKitRules.violations) with \(events)")
        UIKitRules.violations = []
        let items = next.sections.flatMap(\.items)
        #expect(list.dataSource.snapshot().itemIdentifiers == items.map(\.id))
        for item in items {
          #expect(list.dataSource.cells[item.id]?.text == "\(item.dataText) \(item.isPending)")
        }
        guard before.exists else { continue }
        #expect(list.dataSource.configured - configured == items.filter { before.item($0.id) !== $0 }.count)
      }
      if view.isPending { shown += 1 }
    }
    #expect(shown > 50)
  }

  private func feed() -> Feed { FeedStore(URL(string: "http://127.0.0.1:9")!).feed("f") }

  @Test(.enabled(if: Checkout.hasCommand)) func `a collection view shows every state of a random history`()
    throws
  {
    UIKitRules.violations = []
    let collectionView = UICollectionView()
    let list = FeedCollectionView(collectionView, feed()) { collectionView, path, item in
      let cell = collectionView.dequeueReusableCell(withReuseIdentifier: item.kind, for: path)
      cell.text = item.dataText
      return cell
    }
    list.header = { collectionView, path, section in
      let header = collectionView.dequeueReusableSupplementaryView(
        ofKind: UICollectionView.elementKindSectionHeader,
        withReuseIdentifier: "header",
        for: path
      )
      header.text = section.dataText
      return header
    }
    list.configureHeader = { $0.text = $1.dataText }
    var (diffs, kept) = (0, 0)
    for update in try updates("collection view") {
      let (before, configured, calls) = (list.view, list.dataSource.configured, list.dataSource.calls.count)
      let formerCells = list.dataSource.cells
      list.show(update)
      #expect(
        UIKitRules.violations.isEmpty,
        "\(UIKitRules.violations) at revision \(update.view.revision ?? 0)"
      )
      UIKitRules.violations = []
      #expect(list.dataSource.calls.count == calls + 1)
      // The list shows the feed: every cell of the right kind, with the newest data.
      let items = update.view.sections.flatMap(\.items)
      #expect(list.dataSource.snapshot().itemIdentifiers == items.map(\.id))
      for item in items {
        let cell = list.dataSource.cells[item.id]
        #expect(cell?.text == item.dataText)
        #expect(cell?.reuseIdentifier == item.kind)
      }
      for (index, section) in update.view.sections.enumerated() {
        let path = IndexPath(item: 0, section: index)
        let header = collectionView.supplementaryView(
          forElementKind: UICollectionView.elementKindSectionHeader,
          at: path
        )
        #expect(header?.text == section.dataText)
      }
      guard case .changed(let change) = update.kind, before.exists else {
        #expect(list.dataSource.calls.last == "applySnapshotUsingReloadData")
        continue
      }
      diffs += 1
      #expect(list.dataSource.calls.last == "apply, animated")
      // Exactly the cells that changed are made or configured again.
      let reloadedSections = Set(change.sections.reloads.map(\.id))
      let forced = Set((change.items.reconfigures + change.items.reloads).map(\.id))
      let changed = items.filter {
        before.item($0.id) !== $0 || forced.contains($0.id) || reloadedSections.contains($0.section)
      }
      #expect(list.dataSource.configured - configured == changed.count)
      kept +=
        items.filter { formerCells[$0.id] != nil && formerCells[$0.id] === list.dataSource.cells[$0.id] }
        .count
    }
    #expect(diffs > 100 && kept > 500, "\(diffs) differences, \(kept) cells were kept")
  }

  @Test(.enabled(if: Checkout.hasCommand)) func `a table view shows every state of a random history`() throws
  {
    UIKitRules.violations = []
    let tableView = UITableView()
    let list = FeedTableView(tableView, feed()) { tableView, path, item in
      let cell = tableView.dequeueReusableCell(withIdentifier: item.kind, for: path)
      cell.text = item.dataText
      return cell
    }
    tableView.header = { [unowned list] index in
      let header = UITableViewHeaderFooterView()
      header.text = list.view.sections[index].dataText
      return header
    }
    list.configureHeader = { $0.text = $1.dataText }
    for update in try updates("table view") {
      list.show(update)
      #expect(
        UIKitRules.violations.isEmpty,
        "\(UIKitRules.violations) at revision \(update.view.revision ?? 0)"
      )
      UIKitRules.violations = []
      for (index, section) in update.view.sections.enumerated() {
        #expect(tableView.headerView(forSection: index)?.text == section.dataText)
        for item in section.items { #expect(list.dataSource.cells[item.id]?.text == item.dataText) }
      }
    }
  }

  @Test func `the model of the screen fails where UIKit does`() {
    UIKitRules.violations = []
    var snapshot = NSDiffableDataSourceSnapshot<SectionID, ItemID>()
    snapshot.appendSections(["s", "s"])
    snapshot.appendItems(["a", "a"], toSection: "s")
    snapshot.appendItems(["b"], toSection: "t")
    snapshot.reconfigureItems(["c"])
    snapshot.reloadItems(["c"])
    snapshot.reloadSections(["t"])
    let collectionView = UICollectionView()
    var kind = "one"
    let source = UICollectionViewDiffableDataSource<SectionID, ItemID>(collectionView: collectionView) {
      view,
      path,
      id in
      id == "none" ? nil : view.dequeueReusableCell(withReuseIdentifier: kind, for: path)
    }
    source.apply(snapshot)
    #expect(UIKitRules.violations.count >= 6)
    UIKitRules.violations = []
    snapshot = NSDiffableDataSourceSnapshot()
    snapshot.appendSections(["s"])
    snapshot.appendItems(["a", "none"])
    source.applySnapshotUsingReloadData(snapshot)
    #expect(UIKitRules.violations == ["the provider returned no cell for none"])
    UIKitRules.violations = []
    kind = "two"
    snapshot = NSDiffableDataSourceSnapshot()
    snapshot.appendSections(["s"])
    snapshot.appendItems(["a"])
    snapshot.reconfigureItems(["a"])
    source.apply(snapshot)
    #expect(UIKitRules.violations == ["a cell of one is reconfigured as two: it has another kind"])
    UIKitRules.violations = []
  }

  @Test func `a list that is released stops following`() async {
    weak var released: FeedCollectionView?
    weak var feed: Feed?
    do {
      let shown = self.feed()
      feed = shown
      let list = FeedCollectionView(UICollectionView(), shown) { _, _, _ in nil }
      released = list
      #expect(released != nil)
    }
    #expect(released == nil)
    // Its task ends, and with it the listener.
    while feed != nil { await Task.yield() }
    let model = FeedModel(self.feed())
    #expect(model.standing == .connecting)
    #expect(model.sections.isEmpty)
  }

  @Test func `the blocks of the README compile`() throws {
    let blocks = try Readme.blocks("swift lists")
    #expect(blocks.count == 2)
    for block in blocks {
      let code = block.replacingOccurrences(
        of: "import FeedStoreUI\n",
        with: "import FeedStoreUIOnStandIns\n"
      )
      #expect(try Readme.compile(code, ["-typecheck", "-parse-as-library"]) == "")
    }
  }
}
