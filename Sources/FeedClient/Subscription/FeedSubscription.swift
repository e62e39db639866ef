import Feed

/// A registration with the board, which ends when its last reference is released.
final class FeedSubscription: Sendable {
  let board: FeedBoard
  let number: Int
  let options: SubscriptionOptions

  init(_ board: FeedBoard, feeds: [String]?, _ options: SubscriptionOptions) {
    self.board = board
    self.options = options
    number = board.subscribe(to: feeds.map { Set($0.map { ByteText($0) }) }, options)
  }

  deinit { board.unsubscribe(number) }
}
