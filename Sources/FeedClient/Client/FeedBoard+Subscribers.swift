import Feed

/// Operations that subscribers call.
extension FeedBoard {
  /// The answer to a subscriber that asks for its next update.
  enum Delivery {
    case update(FeedUpdate)
    case nothingYet
    case ended(FeedClientError?)
  }

  /// Adds a subscriber and queues the current state of its feeds.
  ///
  /// - Parameter feeds: nil for all.
  func subscribe(to feeds: Set<ByteText>?, _ options: SubscriptionOptions) -> Int {
    withState { $0.subscribe(to: feeds, options) }
  }

  func unsubscribe(_ number: Int) { withState { $0.unsubscribe(number) } }

  /// The next delivery for a subscriber.
  func next(for number: Int) -> Delivery { withState { $0.next(for: number) } }

  /// Replaces a subscriber's pending updates of a feed with the feed's newest state.
  func passOver(_ feed: FeedAddress, for number: Int) { withState { $0.passOver(feed, for: number) } }

  /// Waits until the subscriber has something to take, reading has ended, or the task is cancelled.
  func wait(for number: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        withState { state in
          let isIdle = state.subscribers[number]?.mailbox.isEmpty == true && state.end == nil
          // Checked under the lock: the cancellation handler may have run before the continuation was stored.
          if isIdle, !Task.isCancelled {
            state.subscribers[number]?.waiter = continuation
          } else {
            continuation.resume()
          }
        }
      }
    } onCancel: {
      withState { $0.wake(number) }
    }
  }

  /// The standing now and after each change. A slow reader receives only the newest value.
  func standings() -> AsyncStream<FeedStanding> {
    let (stream, continuation) = AsyncStream<FeedStanding>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number: Int? = withState { state in
      continuation.yield(state.standing)
      guard state.end == nil else { return nil }
      let number = state.takeNumber()
      state.standingWatchers[number] = continuation
      return number
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.withState { $0.standingWatchers[number] = nil }
    }
    return stream
  }
}
