import Feed

/// What subscribers ask.
extension FeedBoard {
  /// What a subscriber gets when it asks.
  enum Delivery {
    case update(FeedUpdate)
    case nothingYet
    case ended(FeedClientError?)
  }

  /// Adds a subscriber; it is told what is known already.
  ///
  /// - Parameter feeds: nil for all.
  func subscribe(to feeds: Set<ByteText>?, _ options: SubscriptionOptions) -> Int {
    withState { $0.subscribe(to: feeds, options) }
  }

  func unsubscribe(_ number: Int) { withState { $0.unsubscribe(number) } }

  /// What comes next for a subscriber.
  func next(for number: Int) -> Delivery { withState { $0.next(for: number) } }

  /// Sends a subscriber the newest state of a feed instead of its pending updates.
  func passOver(_ feed: ByteText, for number: Int) { withState { $0.passOver(feed, for: number) } }

  /// Waits until there is something for a subscriber, the reading has ended, or the task is cancelled.
  func wait(for number: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        withState { state in
          let isIdle = state.subscribers[number]?.mailbox.isEmpty == true && state.end == nil
          // Looked at under the lock, as the handler may have been called already, and found nobody.
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

  /// Where the reading stands, now and whenever that changes; only the newest waits.
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
