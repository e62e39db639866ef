// With Mac Catalyst there are both, and UIKit counts.
#if canImport(UIKit) && !os(watchOS)
  import UIKit
#elseif canImport(AppKit)
  import AppKit
#endif

#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
  import FeedStoreClient

  /// The common part of `FeedCollectionView` and `FeedTableView`.
  @MainActor
  public class FeedList {
    typealias Snapshot = NSDiffableDataSourceSnapshot<SectionID, ItemID>

    /// The content on the screen.
    public private(set) var view: FeedView
    /// Whether the list animates an update; by default all. It does not animate while it is outside of a window, while the user wants
    /// less motion, and more changes than `maxAnimatedChanges`. AppKit loads all items again without animation.
    public var animates: (FeedUpdate) -> Bool = { _ in true }
    /// The most insertions, deletions, moves and new cells that are animated.
    public var maxAnimatedChanges = 200
    /// Called after each update, for the standing and the like.
    public var onUpdate: ((FeedUpdate) -> Void)?
    let source: FeedSource
    private var task: Task<Void, Never>?

    init(_ feed: Feed, _ source: FeedSource) { (view, self.source) = (feed.view, source) }

    deinit { task?.cancel() }

    func follow(_ feed: Feed) {
      let updates = feed.updates
      task = Task { [weak self] in for await update in updates { self?.show(update) } }
    }

    func show(_ update: FeedUpdate) {
      let plan = source.take(update, dataSourceSnapshot())
      view = update.view
      if plan.isReload {
        reload(source.snapshot)
      } else if plan.changesCells {
        let isAnimated = plan.isAnimated(upTo: maxAnimatedChanges) && isInWindow && animates(update)
        apply(source.snapshot.marked(plan), isAnimated)
      }
      for id in plan.isReload ? [] : plan.headers {
        guard let section = view.section(id), let index = source.snapshot.indexOfSection(id) else { continue }
        configureHeaders(index, section)
      }
      onUpdate?(update)
    }

    // Requirements that each kind of list fulfils in its own way.
    var isInWindow: Bool { false }
    func dataSourceSnapshot() -> Snapshot { source.snapshot }
    func apply(_ snapshot: Snapshot, _ isAnimated: Bool) {}
    func reload(_ snapshot: Snapshot) {}
    func configureHeaders(_ index: Int, _ section: FeedSection) {}
  }

  /// The elements that cells are made from. The closures of data sources keep it, and must not keep the list.
  @MainActor
  final class FeedSource {
    private var view: FeedView?
    /// Of the view, without marks.
    private(set) var snapshot = FeedList.Snapshot()
    // Deleted elements that the data source may still ask for, because it has not applied the newest snapshot.
    private var deletedItems: [ItemID: FeedItem] = [:]
    private var deletedSections: [SectionID: FeedSection] = [:]

    func item(_ id: ItemID) -> FeedItem? { view?.item(id) ?? deletedItems[id] }

    /// The section at a position in the data source.
    func section(_ index: Int, in applied: FeedList.Snapshot?) -> FeedSection? {
      guard let ids = applied?.sectionIdentifiers, ids.indices.contains(index) else { return nil }
      return view?.section(ids[index]) ?? deletedSections[ids[index]]
    }

    /// Elements are those of an update from now on.
    func take(_ update: FeedUpdate, _ applied: @autoclosure () -> FeedList.Snapshot) -> ListPlan {
      let plan = ListPlan(update, over: view)
      view = update.view
      if !(deletedItems.isEmpty && deletedSections.isEmpty) {
        let applied = applied()
        deletedItems = deletedItems.filter { applied.sectionIdentifier(containingItem: $0.key) != nil }
        deletedSections = deletedSections.filter { applied.indexOfSection($0.key) != nil }
      }
      for item in plan.deletedItems { deletedItems[item.id] = item }
      for section in plan.deletedSections { deletedSections[section.id] = section }
      if plan.isReload || plan.isReordered, !snapshot.apply(plan.entries, update.view) {
        snapshot = FeedList.Snapshot()
        snapshot.appendSections(update.view.sections.map(\.id))
        for section in update.view.sections {
          snapshot.appendItems(section.items.map(\.id), toSection: section.id)
        }
      }
      return plan
    }
  }

  extension NSDiffableDataSourceSnapshot
  where SectionIdentifierType == SectionID, ItemIdentifierType == ItemID {
    /// Names the elements to load again.
    func marked(_ plan: ListPlan) -> Self {
      var snapshot = self
      #if canImport(UIKit)
        snapshot.reconfigureItems(Array(plan.reconfigured))
        snapshot.reloadItems(Array(plan.reloaded))
      #else
        // AppKit has no `reconfigureItems`.
        snapshot.reloadItems(Array(plan.reloaded.union(plan.reconfigured)))
      #endif
      snapshot.reloadSections(plan.reloadedSections)
      return snapshot
    }

    /// Applies entries that lead to a view.
    ///
    /// - Returns: false if there are none.
    fileprivate mutating func apply(
      _ entries: FeedChange.Entries<ItemID, FeedChange.ItemPlace>?,
      _ view: FeedView
    ) -> Bool {
      guard let entries else { return false }
      deleteItems(entries.deletes.map(\.id))
      let moves = entries.moves.map { (id: $0.id, to: $0.to, isMove: true) }
      let placed = (moves + entries.inserts.map { ($0.id, $0.place, false) }).sorted {
        $0.to.index < $1.to.index
      }
      let ids = Set(placed.map(\.id))
      // From the first to the last, so the item before each is in its place already.
      for (id, to, isMove) in placed {
        guard let items = view.section(to.section)?.items else { continue }
        let next = to.index == 0 ? items.first { !ids.contains($0.id) }?.id : nil
        switch (to.index > 0 ? items[to.index - 1].id : nil, next) {
        case (let previous?, _):
          if isMove { moveItem(id, afterItem: previous) } else { insertItems([id], afterItem: previous) }
        case (nil, let next?):
          if isMove { moveItem(id, beforeItem: next) } else { insertItems([id], beforeItem: next) }
        case (nil, nil):
          if isMove { deleteItems([id]) }
          appendItems([id], toSection: to.section)
        }
      }
      return true
    }
  }
#endif
