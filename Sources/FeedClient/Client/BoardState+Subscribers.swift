import Feed

/// Operations that subscribers call.
extension BoardState {
  /// Adds a subscriber and queues the current state of its feeds.
  ///
  /// - Parameter feeds: nil for all.
  mutating func subscribe(to feeds: Set<ByteText>?, _ options: SubscriptionOptions) -> Int {
    let number = takeNumber()
    var mailbox = Mailbox(options)
    if !options.beginsWithHistory {
      for partition in sortedPartitions where partition.isBootstrapped {
        for feed in partition.feeds where feeds?.contains(feed) != false {
          mailbox.addNewest(FeedAddress(partition.number, feed))
        }
      }
      if areKnown {
        for feed in feeds ?? [] where !isKnown(feed) { mailbox.addNewest(FeedAddress(nil, feed)) }
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

  mutating func unsubscribe(_ number: Int) {
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

  /// The next delivery for a subscriber.
  mutating func next(for number: Int) -> FeedBoard.Delivery {
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

  /// Replaces a subscriber's pending updates of a feed with the feed's newest state.
  mutating func passOver(_ feed: FeedAddress, for number: Int) {
    subscribers[number]?.mailbox.addNewest(feed)
  }

  private func newest(_ feed: FeedAddress, passedOver: Int, for subscriber: Subscriber) -> FeedUpdate {
    if let partition = feed.partition.flatMap({ partitions[$0] }),
      partition.isBootstrapped || subscriber.mailbox.options.beginsWithHistory
    {
      if let reason = partition.reasonForLoss(of: feed.id) {
        return .mustRefetch(feed: feed.id.string, partition: partition.number, reason: reason)
      }
      if let content = partition.content(of: feed.id) { return .present(content, passedOver: passedOver) }
    }
    return .absent(feed: feed.id.string, partition: feed.partition, changeset: nil)
  }
}
