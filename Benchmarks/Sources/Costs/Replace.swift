import FeedStore
import Workloads

/// A feed that is replaced twice with one that is nearly the same: once with the contents of all items, and once with
/// only the ids of known items.
struct Replace: Workload {
  private static let itemCount = 20_000

  private var store = PublishingStore(options: FeedStoreOptions())
  private var replacements: [RecordList] = []

  let operationCount = 2 * itemCount

  mutating func prepare() async {
    var feed = ReplacedFeed(
      itemCount: Self.itemCount,
      deletedCount: Self.itemCount / 10,
      movedCount: Self.itemCount / 50,
      insertedCount: Self.itemCount / 10
    )
    await store.publish([("feed", feed.next(idsOnly: false))])
    for idsOnly in [false, true] {
      replacements.append(store.makeList([("feed", feed.next(idsOnly: idsOnly))]))
    }
  }

  mutating func run() async {
    for replacement in replacements { await store.publish(replacement) }
  }

  func check() async {
    let reloads = await store.reloadCount
    Costs.check(reloads == 1, "\(reloads - 1) replacements were published as reloads")
  }
}
