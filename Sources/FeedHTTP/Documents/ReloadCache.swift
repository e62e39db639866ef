import FeedClient
import HTTP
import Synchronization

/// Complete states of views. Each version is encoded once and shared by all its readers. Beyond that, a bounded number
/// of bytes is cached for later readers.
final class ReloadCache: Sendable {
  /// A view's complete state, and the offset before which it includes all records.
  struct Current {
    let reload: FeedReload
    let position: Int64
  }

  private struct Known {
    var number: Int
    weak var reload: FeedReload?
    /// The cached reload; nil if there is none.
    var kept: FeedReload?
  }

  /// Serialises the encoding of one view's reload, so that concurrent readers wait for it and share it.
  private final class Maker: Sendable {
    let lock = Mutex(())
  }

  private struct State {
    var reloads: [ViewAddress: Known] = [:]
    var order = EvictionOrder()
    var keptByteCount = 0
    var makers: [ViewAddress: (maker: Maker, users: Int)] = [:]
  }

  private let client: FeedClient
  private let keptLimit: Int
  private let ledger: ReloadLedger
  private let state = Mutex(State())

  /// - Parameters:
  ///   - keptLimit: the bytes to cache for later readers.
  ///   - limit: the bytes of all reloads that are being sent.
  init(_ client: FeedClient, keptLimit: Int, limit: Int) {
    self.client = client
    // The cache must leave room for reloads that are being sent.
    self.keptLimit = min(keptLimit, limit / 2)
    ledger = ReloadLedger(limit: limit)
  }

  /// Makes room for another reader of a reload, by disconnecting the slowest readers of other reloads.
  ///
  /// - Returns: false if too many bytes are queued for readers that are not slow.
  func makeRoom(for reload: FeedReload) -> Bool {
    if ledger.isFull { releaseUnused() }
    return ledger.makeRoom(for: reload)
  }

  /// Drops cached reloads that are not being sent.
  private func releaseUnused() {
    // Released after the lock.
    _ = state.withLock { state in
      let kept = state.reloads.mapValues(\.kept)
      for view in kept.keys { state.reloads[view]?.kept = nil }
      state.keptByteCount = 0
      return kept
    }
  }

  /// The current state of a view; nil if the feed is unknown. Encodes it on the caller's thread, in O(n) for n
  /// elements, unless this version is cached or being sent.
  func current(of view: ViewAddress) -> Current? {
    if let known = known(view) { return known }
    let maker = state.withLock { state in
      let entry = state.makers[view] ?? (Maker(), 0)
      state.makers[view] = (entry.maker, entry.users + 1)
      return entry.maker
    }
    defer {
      state.withLock { state in
        guard let entry = state.makers[view] else { return }
        state.makers[view] = entry.users > 1 ? (entry.maker, entry.users - 1) : nil
      }
    }
    return maker.lock.withLock { _ in known(view) ?? make(view) }
  }

  func removeAll() {
    state.withLock { state in
      state.reloads = [:]
      state.order = EvictionOrder()
      state.keptByteCount = 0
    }
  }

  private func known(_ view: ViewAddress) -> Current? {
    guard let reload = state.withLock({ $0.reloads[view]?.reload }),
      let current = client.subscriptions.standing(of: view), current.includes(reload.version)
    else { return nil }
    return Current(reload: reload, position: current.description.position)
  }

  private func make(_ view: ViewAddress) -> Current? {
    guard let made = client.subscriptions.reload(of: view) else { return nil }
    let reload = FeedReload(FeedVersion(made.description), made.text, ledger)
    state.withLock { keep(reload, of: view, &$0) }
    return Current(reload: reload, position: made.description.position)
  }

  private func keep(_ reload: FeedReload, of view: ViewAddress, _ state: inout State) {
    forget(view, &state)
    let isKept = reload.byteCount <= keptLimit
    let number = state.order.append(view)
    state.reloads[view] = Known(number: number, reload: reload, kept: isKept ? reload : nil)
    if isKept { state.keptByteCount += reload.byteCount }
    while state.keptByteCount > keptLimit, let oldest = state.order.removeFirst() {
      if state.reloads[oldest.view]?.number == oldest.number { forget(oldest.view, &state) }
    }
    // A shared reference, not a copy.
    let reloads = state.reloads
    state.order.forgetGone(keeping: reloads.count) { reloads[$0]?.number == $1 }
  }

  private func forget(_ view: ViewAddress, _ state: inout State) {
    guard let known = state.reloads.removeValue(forKey: view) else { return }
    state.keptByteCount -= known.kept?.byteCount ?? 0
  }
}

/// A view's complete state at one version: as a document and as a stream message.
///
/// It is released with its last reader.
final class FeedReload: Sendable {
  let version: FeedVersion
  let document: HTTPContent
  /// The JSON text in UTF-8, inside the encoded message.
  private let encoded: EncodedEvent
  private let ledger: ReloadLedger

  init(_ version: FeedVersion, _ text: [UInt8], _ ledger: ReloadLedger) {
    self.version = version
    self.ledger = ledger
    document = HTTPContent(text)
    encoded = EncodedEvent(id: version.text, data: text)
    ledger.add(byteCount)
  }

  deinit { ledger.add(-byteCount) }

  /// The message for a stream. The stream's queue keeps the reload alive.
  func event(for stream: EventStream) -> EncodedEvent {
    encoded.owned(by: ledger.lend(self, to: stream, byteCount: encoded.bytes.count))
  }

  /// Keeps the reload alive until the document, or its compressed form, has been sent.
  func lend(to transfer: HTTPTransfer, byteCount: Int) -> ReloadLoan {
    ledger.lend(self, to: transfer, byteCount: byteCount)
  }

  /// The approximate size in memory, in bytes.
  var byteCount: Int { document.count + encoded.bytes.count + 200 }
}
