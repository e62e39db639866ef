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
    withLock {
      let number = takeNumber()
      var mailbox = Mailbox(options)
      if !options.beginsWithHistory {
        for partition in partitions.values where partition.isBootstrapped {
          for feed in partition.feeds where feeds?.contains(feed) != false { mailbox.addNewest(feed) }
        }
        if isOpen, partitions.values.allSatisfy(\.isBootstrapped) {
          for feed in feeds ?? [] { mailbox.addNewest(feed) }
        }
      }
      subscribers[number] = Subscriber(feeds: feeds, mailbox: mailbox)
      if let feeds {
        for feed in feeds { listeners[feed, default: []].insert(number) }
      } else {
        listenersToAll.insert(number)
      }
      if options.slowPolicy == .pausesReading { pausing.insert(number) }
      if options.beginsWithHistory { historyCount += 1 }
      return number
    }
  }

  func unsubscribe(_ number: Int) {
    withLock {
      guard let subscriber = subscribers.removeValue(forKey: number) else { return }
      for feed in subscriber.feeds ?? [] {
        listeners[feed]?.remove(number)
        if listeners[feed]?.isEmpty == true { listeners[feed] = nil }
      }
      listenersToAll.remove(number)
      pausing.remove(number)
      if subscriber.mailbox.options.beginsWithHistory { historyCount -= 1 }
      subscriber.waiter?.resume()
      wakeReader()
    }
  }

  /// What comes next for a subscriber.
  func next(for number: Int) -> Delivery {
    withLock {
      guard let letter = subscribers[number]?.mailbox.next(), let subscriber = subscribers[number] else {
        switch subscribers[number] == nil ? endBefore : end {
        case nil: return .nothingYet
        case .stopped: return .ended(nil)
        case .failed(let error): return .ended(error)
        }
      }
      if pausing.contains(number) { wakeReader() }
      switch letter {
      case .update(let update): return .update(update)
      case .newest(let feed, let passedOver):
        return .update(newest(feed, passedOver: passedOver, for: subscriber))
      }
    }
  }

  /// Has a subscriber told the newest state of a feed, instead of what waits of it.
  func passOver(_ feed: ByteText, for number: Int) {
    withLock { subscribers[number]?.mailbox.addNewest(feed) }
  }

  private func newest(_ feed: ByteText, passedOver: Int, for subscriber: Subscriber) -> FeedUpdate {
    for partition in partitions.values
    where partition.isBootstrapped || subscriber.mailbox.options.beginsWithHistory {
      if let reason = partition.reasonForLoss(of: feed) {
        return .mustRefetch(feed: feed.string, reason: reason)
      }
      if let content = partition.content(of: feed) { return .present(content, passedOver: passedOver) }
    }
    return .absent(feed: feed.string, changeset: nil)
  }

  /// Waits until there is something for a subscriber, the reading has ended, or the task is cancelled.
  func wait(for number: Int) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        withLock {
          let isIdle = subscribers[number]?.mailbox.isEmpty == true && end == nil
          // Looked at under the lock, as the handler may have been called already, and found nobody.
          if isIdle, !Task.isCancelled {
            subscribers[number]?.waiter = continuation
          } else {
            continuation.resume()
          }
        }
      }
    } onCancel: {
      withLock {
        subscribers[number]?.waiter?.resume()
        subscribers[number]?.waiter = nil
      }
    }
  }

  /// Whether anything is known of a feed.
  func isKnown(_ feed: ByteText) -> Bool {
    partitions.values.contains { $0.reasonForLoss(of: feed) != nil || $0.hasReplica(of: feed) }
  }

  /// Where the reading stands, now and whenever that changes; only the newest waits.
  func standings() -> AsyncStream<FeedStanding> {
    let (stream, continuation) = AsyncStream<FeedStanding>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number: Int? = withLock {
      continuation.yield(standing)
      guard end == nil else { return nil }
      let number = takeNumber()
      standingWatchers[number] = continuation
      return number
    }
    guard let number else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.withLock { self?.standingWatchers[number] = nil }
    }
    return stream
  }
}
