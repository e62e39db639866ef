import FeedClient
import HTTP
import Queues
import Synchronization

/// Sending of states to readers that start or lag.
extension FeedStreams {
  /// The number of attempts to send a reader a state, before the reader must reconnect.
  private static let attempts = 5
  /// Small states are sent together, up to this many queued bytes.
  private static let togetherBytes = 4 << 10

  /// Sends a stream's client the states that its readers need, once it has read its queue.
  func serve(_ number: Int) {
    let stream = delivery.withLock { delivery -> EventStream? in
      guard let stream = delivery.streams[number], stream.isLagging, !stream.isServed else { return nil }
      delivery.streams[number]?.isServed = true
      return stream.stream
    }
    if let stream { sendStatesWhenDrained(on: number, stream) }
  }

  private func sendStatesWhenDrained(on number: Int, _ stream: EventStream) {
    let isWaiting = stream.notifyWhenDrained { [weak self] in self?.noteDrained(number) }
    if !isWaiting { noteDrained(number) }
  }

  private func noteDrained(_ number: Int) {
    let size = delivery.withLock { delivery in
      let size: StreamDelivery.StateSize = delivery.streams[number]?.isNextLarge == true ? .large : .small
      delivery.due[size, default: Queue()].append(number)
      return size
    }
    stateSignals[size.rawValue].yield()
  }

  /// Sends states of one size class until the task is cancelled. Encoding them blocks the thread.
  func keepSendingStates(_ size: StreamDelivery.StateSize) async {
    for await _ in stateSignals[size.rawValue].all { sendStates(size) }
  }

  func sendStates(_ size: StreamDelivery.StateSize) {
    while let number = delivery.withLock({ $0.due[size]?.removeFirst() }) {
      if let stream = delivery.withLock({ $0.streams[number]?.stream }) { sendStates(on: number, stream) }
    }
    noticeSignal.yield()
  }

  private func sendStates(on number: Int, _ stream: EventStream) {
    repeat {
      guard let (reader, view) = delivery.withLock({ $0.nextState(on: number) }) else { return }
      let isResumed = withStanding(of: view, withTotals: true) { $0.resume(reader, of: view, $1) }
      if !isResumed { sendState(of: view, to: reader, stream) }
    } while stream.queuedBytes < Self.togetherBytes
      && delivery.withLock({ $0.streams[number]?.isNextLarge == false })
    sendStatesWhenDrained(on: number, stream)
  }

  /// Sends a lagging reader the current state of its view. O(n) for n elements, unless this version is cached or being sent.
  private func sendState(of view: ViewAddress, to reader: ReaderID, _ stream: EventStream) {
    for _ in 0..<Self.attempts {
      guard let breaks = delivery.withLock({ $0.breaks(of: view.feed) }) else { return }
      guard let current = reloads.current(of: view) else { return endOne(view, reader, stream) }
      guard reloads.makeRoom(for: current.reload) else {
        return endOne(view, reader, stream, reason: "too many bytes are queued for readers")
      }
      let sending = withStanding(of: view) {
        $0.send(current, after: breaks, to: reader, of: view, current: $1?.description)
      }
      switch sending {
      case .sent: return
      case .isGone: return endOne(view, reader, stream)
      case .isOld: continue
      }
    }
    endOne(view, reader, stream, reason: "the feed changes faster than it can be sent as a whole")
  }

  /// Makes a reader wait if no state can be sent. A stream of one feed ends.
  ///
  /// - Parameter reason: nil if the feed does not exist.
  private func endOne(_ view: ViewAddress, _ reader: ReaderID, _ stream: EventStream, reason: String? = nil) {
    let id = reader.viewID(of: view.feed.id)
    let notice = StreamNotice.mustRefetch(id.feed, reason: reason ?? Self.absence)
    guard delivery.withLock({ $0.wait(for: view, reader) }) else {
      stream.replaceQueued(with: notice)
      return stream.close()
    }
    if reason == nil { return settle(id, on: reader.stream) }
    tell(notice, of: id, on: reader.stream)
    lookSignal.yield()
  }
}
