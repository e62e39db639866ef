import Foundation
import SwiftUI
import Testing
import UIKit

@testable import FeedStoreClient
@testable import FeedStoreUIOnStandIns

/// A feed whose updates the test decides, and the lists that show it.
@MainActor struct ListTests {
  private let collectionView = UICollectionView()

  init() {
    UIKitRules.violations = []
    collectionView.window = UIWindow()
  }

  private func feed() -> Feed { FeedStore(URL(string: "http://127.0.0.1:9")!).feed("f") }

  private func list(
    dataSource: (@MainActor (UICollectionView, @escaping CellProvider) -> DataSource)? = nil
  ) -> FeedCollectionView {
    FeedCollectionView(collectionView, feed(), dataSource: dataSource) { collectionView, path, item in
      let cell = collectionView.dequeueReusableCell(withReuseIdentifier: item.kind, for: path)
      cell.text = "\(item.dataText) \(item.isPending)"
      return cell
    }
  }
  typealias DataSource = FeedCollectionView.DataSource
  typealias CellProvider = FeedCollectionView.DataSourceCellProvider

  /// A view of one section, in which equal items are the objects of a former view.
  private func view(
    _ items: [String],
    data: [String: String] = [:],
    after former: FeedView? = nil
  ) -> FeedView {
    var draft = SectionDraft(id: "s", dataText: "null")
    draft.items = items.map {
      let item = FeedItem(id: ItemID($0), kind: "k", section: "s", dataText: data[$0] ?? "1")
      return former?.state.reused(item) ?? item
    }
    var view = FeedView(feed: "f", standing: .live)
    let next = former == nil ? 1 : 2
    view.head = .init(epoch: "e", revision: next, base: 0, time: "", through: [:], checksum: "", reason: nil)
    view.state = FeedState(drafts: [draft], reusing: former?.state ?? FeedState())
    return view
  }

  private func expectNoViolations(_ where: String = "") {
    #expect(UIKitRules.violations.isEmpty, "\(UIKitRules.violations) \(`where`)")
    UIKitRules.violations = []
  }

  @Test(.enabled(if: Checkout.hasCommand))
  func `a collection view shows every state of a random history, and writes that are taken back`() throws {
    let list = list()
    let kinds = [UICollectionView.elementKindSectionHeader, UICollectionView.elementKindSectionFooter]
    collectionView.supplementaryKinds = kinds
    for kind in kinds {
      list.supplementary(kind) {
        let view = $0.dequeueReusableSupplementaryView(ofKind: kind, withReuseIdentifier: kind, for: $1)
        view.text = $2.dataText
        return view
      } configure: {
        $0.text = $1.dataText
      }
    }
    var (diffs, kept, pending) = (0, 0, 0)
    func show(_ update: FeedUpdate, _ what: String) {
      let (before, configured, calls) = (list.view, list.dataSource.configured, list.dataSource.calls.count)
      let formerCells = list.dataSource.cells
      list.show(update)
      expectNoViolations(what)
      // The list shows the feed: every cell of the right kind, with the newest data.
      let items = update.view.sections.flatMap(\.items)
      #expect(list.dataSource.snapshot().itemIdentifiers == items.map(\.id))
      for item in items {
        let cell = list.dataSource.cells[item.id]
        #expect(cell?.text == "\(item.dataText) \(item.isPending)" && cell?.reuseIdentifier == item.kind)
      }
      for (index, section) in update.view.sections.enumerated() {
        for kind in kinds {
          let path = IndexPath(item: 0, section: index)
          let view = collectionView.supplementaryView(forElementKind: kind, at: path)
          #expect(view?.text == section.dataText && view?.reuseIdentifier == kind)
        }
      }
      var change: FeedChange?
      if case .changed(let found) = update.kind { change = found }
      if case .pending = update.kind {
        guard before.exists else { return }
      } else {
        let isDisjoint =
          before.itemCount > 0 && items.count > 0 && items.allSatisfy { before.item($0.id) == nil }
        guard before.exists, change != nil || !isDisjoint else {
          #expect(list.dataSource.calls.last == "applySnapshotUsingReloadData")
          return
        }
        diffs += 1
        #expect(list.dataSource.calls[calls...].allSatisfy { $0 == "apply, animated" })
      }
      // Exactly the cells that changed are made or configured again.
      let reloadedSections = Set(change?.sections.reloads.map(\.id) ?? [])
      let forced = Set(change.map { $0.items.reconfigures + $0.items.reloads }?.map(\.id) ?? [])
      let changed = items.filter {
        before.item($0.id) !== $0 || forced.contains($0.id) || reloadedSections.contains($0.section)
      }
      #expect(list.dataSource.configured - configured == changed.count)
      kept += items.count { formerCells[$0.id] != nil && formerCells[$0.id] === list.dataSource.cells[$0.id] }
    }
    var records = RandomRecords(random: SeededRandom("pending"))
    for update in try Replay.updates("collection view", records: 1200) {
      show(update, "at revision \(update.view.revision ?? 0)")
      let events = (0..<3).map { _ in records.event() }
      var view = update.view
      let overlay = PendingOverlay(events.map(PendingOperation.list), window: .all)
      (view.state, view.isPending) = overlay.applied(to: view.state, former: list.view.state)
      for view in [view, update.view] { show(FeedUpdate(kind: .pending, view: view), "with \(events)") }
      pending += view.isPending ? 1 : 0
    }
    #expect(diffs > 100 && kept > 500 && pending > 50, "\(diffs), \(kept), \(pending)")
  }

  @Test(.enabled(if: Checkout.hasCommand)) func `a table view shows every state of a random history`() throws
  {
    final class Titled: FeedTableView.DataSource {
      override func tableView(_ tableView: UITableView, titleForHeaderInSection section: Int) -> String? {
        snapshot().sectionIdentifiers[section].rawValue
      }
    }
    let tableView = UITableView()
    let list = FeedTableView(tableView, feed(), dataSource: Titled.init) { tableView, path, item in
      let cell = tableView.dequeueReusableCell(withIdentifier: item.kind, for: path)
      cell.text = item.dataText
      return cell
    }
    tableView.supplement = { [unowned list] kind, index in
      let view = UITableViewHeaderFooterView()
      view.text = "\(kind) \(list.view.sections[index].dataText)"
      return view
    }
    list.configureHeader = { $0.text = "header \($1.dataText)" }
    list.configureFooter = { $0.text = "footer \($1.dataText)" }
    for update in try Replay.updates("table view", records: 1200) {
      list.show(update)
      expectNoViolations("at revision \(update.view.revision ?? 0)")
      for (index, section) in update.view.sections.enumerated() {
        #expect(tableView.headerView(forSection: index)?.text == "header \(section.dataText)")
        #expect(tableView.footerView(forSection: index)?.text == "footer \(section.dataText)")
        let title = list.dataSource.tableView(tableView, titleForHeaderInSection: index)
        #expect(title == section.id.rawValue)
        for item in section.items { #expect(list.dataSource.cells[item.id]?.text == item.dataText) }
      }
    }
  }

  @Test func `a state over a list that is shown is compared, unless more than half of it changed`() {
    let list = list()
    let ids = (0..<100).map(String.init)
    let five = view(Array(ids.prefix(5)))
    list.show(FeedUpdate(kind: .state, view: five))
    #expect(list.dataSource.calls == ["applySnapshotUsingReloadData"])
    let cells = list.dataSource.cells
    for (items, call) in [
      (ids.prefix(5).reversed(), "apply, animated"), (Array(ids.prefix(49)), "apply, animated"),
      (ids, "applySnapshotUsingReloadData"), (Array(ids.dropFirst(50)), "apply, animated"),
      (ids, "apply, animated"), (Array(ids.dropFirst(51)), "applySnapshotUsingReloadData"),
      (["other"], "applySnapshotUsingReloadData"), ([], "apply, animated"),
    ] {
      list.show(FeedUpdate(kind: .state, view: view(items, after: list.view)))
      #expect(list.dataSource.calls.last == call, "\(items.count)")
      #expect(list.dataSource.snapshot().itemIdentifiers.map(\.rawValue) == items)
      if items.starts(with: ["4"]) || items.last == "48" {
        #expect(cells.allSatisfy { list.dataSource.cells[$0.key] === $0.value })
      }
    }
    // Nothing is applied where nothing changed.
    let calls = list.dataSource.calls.count
    list.show(FeedUpdate(kind: .state, view: list.view))
    #expect(list.dataSource.calls.count == calls)
    #expect(UIKitRules.violations.isEmpty)
  }

  @Test
  func `animation is off outside of a window, for reduced motion, above a number of changes and on request`()
  {
    let list = list()
    defer { UIAccessibility.isReduceMotionEnabled = false }
    list.show(FeedUpdate(kind: .state, view: view(["a"])))
    func isAnimated(_ items: [String]) -> Bool {
      list.show(FeedUpdate(kind: .state, view: view(items, after: list.view)))
      return list.dataSource.calls.last == "apply, animated"
    }
    #expect(isAnimated(["a", "b"]))
    list.maxAnimatedChanges = 2
    #expect(isAnimated(["a", "b", "c", "d"]))
    #expect(!isAnimated(["a"]))
    list.animates = { $0.view.itemCount != 2 }
    #expect(!isAnimated(["a", "b"]))
    #expect(isAnimated(["a"]))
    UIAccessibility.isReduceMotionEnabled = true
    #expect(!isAnimated(["a", "b", "c"]))
    UIAccessibility.isReduceMotionEnabled = false
    collectionView.window = nil
    #expect(!isAnimated(["a"]))
  }

  @Test func `an update that names few of 10,000 items edits the snapshot only there`() {
    let list = list()
    let ids = (0..<10_000).map(String.init)
    list.show(FeedUpdate(kind: .state, view: view(ids)))
    var items = ids
    items.remove(at: 7)
    items.insert("new", at: 0)
    items.remove(at: 9_000)
    items.insert("9000", at: 500)
    var change = FeedChange(epoch: "e", revision: 2, base: 1, mode: .diff, reason: nil, time: "")
    func place(_ index: Int) -> FeedChange.ItemPlace { .init(section: "s", index: index) }
    change.items.deletes = [.init(id: "7", place: place(7))]
    change.items.inserts = [.init(id: "new", place: place(0))]
    change.items.moves = [.init(id: "9000", from: place(9_000), to: place(500))]
    change.items.reconfigures = [.init(id: "3", place: place(4))]
    let (edits, configured) = (UIKitRules.edits, list.dataSource.configured)
    let next = view(items, data: ["3": "2"], after: list.view)
    list.show(FeedUpdate(kind: .changed(change), view: next))
    #expect(UIKitRules.edits - edits == 4)
    #expect(list.dataSource.configured - configured == 2)
    let isInOrder = list.dataSource.snapshot().itemIdentifiers == items.map { ItemID($0) }
    #expect(isInOrder)
    #expect(list.dataSource.cells["3"]?.text == "2 false")
    // A write over it changes no place, and edits nothing.
    list.show(FeedUpdate(kind: .pending, view: view(items, data: ["3": "3"], after: next)))
    #expect(UIKitRules.edits - edits == 4)
    #expect(list.dataSource.cells["3"]?.text == "3 false")
    #expect(UIKitRules.violations.isEmpty)
  }

  /// As an app's that waits until the user has finished dragging.
  private final class Deferring: DataSource {
    private var waiting: (() -> Void)?

    override func apply(
      _ snapshot: Snapshot,
      animatingDifferences: Bool = true,
      completion: (() -> Void)? = nil
    ) {
      waiting = { super.apply(snapshot, animatingDifferences: animatingDifferences, completion: completion) }
    }

    func finish() { waiting?() }
  }

  @Test func `a deleted item has its cell until the data source has applied that`() {
    var provider: CellProvider?
    let list = list {
      provider = $1
      return Deferring(collectionView: $0, cellProvider: $1)
    }
    list.show(FeedUpdate(kind: .state, view: view(["a", "b", "c"])))
    for items in [["a", "b"], ["a"], ["a", "c"], ["a"]] {
      list.show(FeedUpdate(kind: .state, view: view(items, after: list.view)))
    }
    let path = IndexPath(item: 1, section: 0)
    #expect(provider?(collectionView, path, "b")?.text == "1 false")
    #expect(provider?(collectionView, path, "c")?.text == "1 false")
    (list.dataSource as? Deferring)?.finish()
    #expect(list.dataSource.snapshot().itemIdentifiers == ["a"])
    list.show(FeedUpdate(kind: .state, view: view(["a"], after: list.view)))
    #expect(provider?(collectionView, path, "b") == nil)
    #expect(UIKitRules.violations.isEmpty)
  }

  @Test func `the model of the screen fails where UIKit does`() {
    var snapshot = NSDiffableDataSourceSnapshot<SectionID, ItemID>()
    snapshot.appendSections(["s", "s"])
    snapshot.appendItems(["a", "a"], toSection: "s")
    snapshot.appendItems(["b"], toSection: "t")
    snapshot.reconfigureItems(["c"])
    snapshot.reloadItems(["c"])
    snapshot.reloadSections(["t"])
    snapshot.deleteItems(["c"])
    snapshot.insertItems(["d"], afterItem: "c")
    snapshot.moveItem("a", beforeItem: "c")
    var kind = "one"
    let source = UICollectionViewDiffableDataSource<SectionID, ItemID>(collectionView: collectionView) {
      $2 == "none" ? nil : $0.dequeueReusableCell(withReuseIdentifier: kind, for: $1)
    }
    source.apply(snapshot)
    #expect(UIKitRules.violations.count >= 9)
    func violations(_ items: [ItemID], reconfigured: [ItemID]) -> [String] {
      (snapshot, UIKitRules.violations) = (.init(), [])
      snapshot.appendSections(["s"])
      snapshot.appendItems(items)
      snapshot.reconfigureItems(reconfigured)
      if reconfigured.isEmpty {
        source.applySnapshotUsingReloadData(snapshot)
      } else {
        source.apply(snapshot)
      }
      return UIKitRules.violations
    }
    #expect(violations(["a", "none"], reconfigured: []) == ["the provider returned no cell for none"])
    kind = "two"
    let other = "a cell of one is reconfigured as two: it has another kind"
    #expect(violations(["a"], reconfigured: ["a"]) == [other])
    UIKitRules.violations = []
  }

  @Test func `a list that is released stops following`() async {
    weak var released: FeedCollectionView?
    weak var feed: Feed?
    do {
      let shown = self.feed()
      feed = shown
      let list = FeedCollectionView(UICollectionView(), shown) { _, _, _ in UICollectionViewCell() }
      released = list
      #expect(released != nil)
    }
    #expect(released == nil)
    // Its task ends, and with it the listener.
    while feed != nil { await Task.yield() }
  }

  @Test func `a model follows while its task runs, and animates what moves`() async {
    let model = FeedModel(feed())
    var animations: [Int] = []
    for (items, animation) in [
      (["a", "b"], Animation.default), (["b", "a"], .default), (["a", "b"], nil),
      ((0..<300).map(String.init), .default),
    ] {
      model.animation = animation
      let count = Animation.count
      model.show(FeedUpdate(kind: .state, view: view(items, after: model.view)))
      animations.append(Animation.count - count)
    }
    #expect(animations == [0, 1, 0, 0] && model.sections[0].items.count == 300)
    // Nothing was asked of the server yet, which does not exist.
    #expect(model.feed.view.standing == .connecting)
    let task = Task { await model.follow() }
    while model.standing == .live || model.standing == .connecting { await Task.yield() }
    task.cancel()
    await task.value
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
