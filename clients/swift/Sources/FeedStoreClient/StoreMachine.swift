import Foundation

struct HandleID: Hashable, Sendable { let number: Int }
struct WriteID: Hashable, Sendable { let number: Int }

struct QueuedWrite {
  let id: WriteID
  let value: String
  let wait: Int
  /// How often its token was refused because it is not valid yet.
  var refusals = 0
}

/// One attempt of one stream to connect; what an earlier attempt still tells is ignored.
struct Connection: Hashable, Sendable {
  let stream: Int
  let attempt: Int
}

/// Everything that a program follows, without input and output: its methods say what to do in `effects`.
///
/// - A *handle* is a `Feed`. A *follow* is a feed with a window, for all handles that show it.
/// - A *stream* follows at most one window of a feed, so a second window goes onto the next stream.
/// - A follow of which it is not known which instance has it (no `home`) is on a stream of every instance.
struct StoreMachine {
  enum Effect {
    case askToken(Connection)
    case connect(Connection, URL, body: String, token: String?)
    case disconnect(Connection)
    case patch(Connection, URL, body: String, token: String?)
    case setTimer(Timer, seconds: Double)
    case cancelTimer(Timer)
    case show(HandleID, FeedUpdate)
    case post(WriteID, URL, body: String, wait: Int)
    case finish(WriteID, Result<Written, any Error>)
  }

  enum Timer: Hashable, Sendable {
    /// Sends what has changed: several changes in a row make one request.
    case flush
    case reconnect(stream: Int)
    case renewToken(stream: Int)
    case refetch(follow: Int)
    case look(WriteID)
    case send(WriteID)
  }

  static let maxFeedsPerStream = 256
  static let maxPendingWrites = 1000
  static let maxRefusals = 30
  static let maxDelay = 30.0
  /// A stream that had events for so long is opened again at once, after a random part of `atOnceSeconds`.
  static let steadySeconds = 5.0
  static let atOnceSeconds = 0.05
  /// The least spread above `Retry-After`.
  static let leastSpread = 1.5
  /// How long a write that was accepted is shown while the feed is live, if nothing covers it: it may be rejected later, or change
  /// nothing.
  static let pendingSeconds = 60.0
  static let lookSeconds = 5.0

  var effects: [Effect] = []
  /// By their number, those of the program first; others are known from `moved`.
  var servers: [URL]
  let ownServers: Int
  var handles: [HandleID: Handle] = [:]
  var follows: [Int: Follow] = [:]
  var streams: [Int: StreamState] = [:]
  /// The writes that are not answered, in their order.
  var queues: [FeedID: [QueuedWrite]] = [:]
  let hasTokens: Bool
  var tokens = HeldTokens()
  private var followsByKey: [FollowKey: Int] = [:]
  private var dirty: Set<Int> = []
  private var isFlushScheduled = false
  private var lastNumber = 0
  let now: @Sendable () -> Date
  /// From 0 to 1.
  let random: @Sendable () -> Double

  struct Handle {
    var follow: Int
    var listeners = 0
  }

  struct FollowKey: Hashable {
    let feed: FeedID
    let window: FeedWindow
  }

  init(
    servers: [URL],
    hasTokens: Bool,
    now: @escaping @Sendable () -> Date = { Date() },
    random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
  ) {
    self.servers = []
    for server in servers.map(Self.normalized) where !self.servers.contains(server) {
      self.servers.append(server)
    }
    ownServers = self.servers.count
    self.hasTokens = hasTokens
    self.now = now
    self.random = random
  }

  mutating func takeEffects() -> [Effect] {
    defer { effects = [] }
    return effects
  }

  mutating func newNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  // Handles.

  mutating func add(_ feed: FeedID, _ window: FeedWindow) -> (handle: HandleID, view: FeedView) {
    let handle = HandleID(number: newNumber())
    let number = followsByKey[FollowKey(feed: feed, window: window)] ?? newFollow(Follow(feed, window))
    handles[handle] = Handle(follow: number)
    follows[number]?.handles.insert(handle)
    return (handle, follows[number]?.shown ?? FeedView(feed: feed, standing: .connecting))
  }

  private mutating func newFollow(_ follow: Follow) -> Int {
    let number = newNumber()
    follows[number] = follow
    followsByKey[FollowKey(feed: follow.feed, window: follow.window)] = number
    return number
  }

  mutating func remove(_ handle: HandleID) {
    guard let removed = handles.removeValue(forKey: handle) else { return }
    leave(removed.follow, handle, removed.listeners)
  }

  private mutating func leave(_ number: Int, _ handle: HandleID, _ listeners: Int) {
    follows[number]?.handles.remove(handle)
    follows[number]?.listeners -= listeners
    change(number)
  }

  /// Whether the feed is known not to exist.
  mutating func listen(_ handle: HandleID) -> Bool {
    guard let number = handles[handle]?.follow else { return false }
    handles[handle]?.listeners += 1
    follows[number]?.listeners += 1
    if follows[number]?.listeners == 1 { follows[number]?.isRefused = false }
    change(number)
    return follows[number]?.isAbsent ?? false
  }

  mutating func unlisten(_ handle: HandleID) {
    guard let number = handles[handle]?.follow else { return }
    handles[handle]?.listeners -= 1
    follows[number]?.listeners -= 1
    change(number)
  }

  mutating func show(_ handle: HandleID, _ window: FeedWindow) {
    guard let shown = handles[handle], let follow = follows[shown.follow], follow.window != window else {
      return
    }
    let key = FollowKey(feed: follow.feed, window: window)
    if let other = followsByKey[key] {
      move(handle, shown, to: other)
    } else if follow.handles.count == 1 {
      followsByKey[FollowKey(feed: follow.feed, window: follow.window)] = nil
      followsByKey[key] = shown.follow
      follows[shown.follow]?.window = window
      follows[shown.follow]?.isRefused = false
      change(shown.follow)
    } else {
      move(handle, shown, to: newFollow(follow.withOther(window)))
    }
  }

  private mutating func move(_ handle: HandleID, _ shown: Handle, to number: Int) {
    handles[handle]?.follow = number
    follows[number]?.handles.insert(handle)
    follows[number]?.listeners += shown.listeners
    change(number)
    leave(shown.follow, handle, shown.listeners)
    guard let view = follows[number]?.shown, view.exists else { return }
    effects.append(.show(handle, FeedUpdate(kind: .state, view: view)))
  }

  // What streams follow.

  /// Notes that a follow may have to be on other streams, or otherwise on the same.
  mutating func change(_ number: Int) {
    dirty.insert(number)
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    effects.append(.setTimer(.flush, seconds: 0.01))
  }

  mutating func flush() {
    isFlushScheduled = false
    for number in dirty.sorted() { settlePlaces(of: number) }
    dirty = []
    for stream in streams.keys.sorted() { update(stream) }
  }

  private mutating func settlePlaces(of number: Int) {
    guard let follow = follows[number] else { return }
    let wanted =
      follow.listeners > 0 && !follow.isRefused ? follow.places(servers: servers.count, own: ownServers) : []
    for (server, stream) in follow.streams where !wanted.contains(server) {
      streams[stream]?.members[follow.feed] = nil
      follows[number]?.streams[server] = nil
    }
    for server in wanted.sorted() where follow.streams[server] == nil {
      let stream = freeStream(of: server, for: follow.feed)
      streams[stream]?.members[follow.feed] = number
      follows[number]?.streams[server] = stream
    }
    if follow.handles.isEmpty {
      follows[number] = nil
      let key = FollowKey(feed: follow.feed, window: follow.window)
      if followsByKey[key] == number { followsByKey[key] = nil }
    } else if follow.listeners == 0 {
      follows[number]?.absentAt = []
      setStanding(of: number, .connecting)
    }
  }

  private mutating func freeStream(of server: Int, for feed: FeedID) -> Int {
    for (number, stream) in streams.sorted(by: { $0.key < $1.key }) where stream.server == server {
      if stream.members[feed] == nil && stream.members.count < Self.maxFeedsPerStream { return number }
    }
    let number = newNumber()
    streams[number] = StreamState(server: server)
    return number
  }

  /// The number of an instance by its URL.
  mutating func server(at url: URL) -> Int {
    let url = Self.normalized(url)
    if let number = servers.firstIndex(of: url) { return number }
    servers.append(url)
    return servers.count - 1
  }

  func url(of server: Int, _ path: String) -> URL {
    URL(string: servers[server].absoluteString + path) ?? servers[server]
  }

  private static func normalized(_ url: URL) -> URL {
    var text = url.absoluteString
    while text.hasSuffix("/") { text.removeLast() }
    return URL(string: text) ?? url
  }

  // What handles show.

  mutating func setStanding(of number: Int, _ standing: Standing) {
    guard follows[number]?.shown.standing != standing else { return }
    follows[number]?.shown.standing = standing
    tell(number, .standing)
  }

  mutating func tell(_ number: Int, _ kind: FeedUpdate.Kind) {
    guard let follow = follows[number] else { return }
    for handle in follow.handles.sorted(by: { $0.number < $1.number }) {
      effects.append(.show(handle, FeedUpdate(kind: kind, view: follow.shown)))
    }
  }
}

/// A feed with a window, and its state.
struct Follow {
  let feed: FeedID
  var window: FeedWindow
  var handles: Set<HandleID> = []
  /// How many listen to these handles.
  var listeners = 0

  var replica: Replica
  /// The newest state from the daemon.
  var confirmed: FeedView
  /// The confirmed state with the writes that are not confirmed.
  var shown: FeedView
  var pending: [PendingWrite] = []

  /// The window that `confirmed` is of; nil if that is not known.
  var stateWindow: FeedWindow?
  /// The window that the server sends at present, and those that it was asked to send from then on.
  var serverWindow: FeedWindow?
  var askedWindows: [FeedWindow] = []

  /// The instance that has the feed, and an instance that was said to have it.
  var home: Int?
  var hint: Int?
  /// The instances that do not have it. It is absent if all say so.
  var absentAt: Set<Int> = []
  var isAbsent = false
  /// By instance, the stream that follows it.
  var streams: [Int: Int] = [:]
  /// Whether its window was refused, so that it is not asked for again.
  var isRefused = false
  /// Whether it must be asked for without its version.
  var needsReload = false
  /// How often in a row a changeset did not fit.
  var refetches = 0

  init(_ feed: FeedID, _ window: FeedWindow) {
    self.feed = feed
    self.window = window
    replica = Replica(feed)
    shown = FeedView(feed: feed, standing: .connecting)
    confirmed = shown
  }

  /// The same feed in another window, which shows this one until its own state arrives.
  func withOther(_ window: FeedWindow) -> Follow {
    var other = Follow(feed, window)
    other.replica = replica
    other.replica.expectReload()
    (other.confirmed, other.shown, other.pending, other.home) = (confirmed, shown, pending, home)
    return other
  }

  /// The instances whose streams follow it.
  func places(servers: Int, own: Int) -> Set<Int> {
    if let home { return [home] }
    return Set(0..<own).union(hint.map { [$0] } ?? [])
  }

  /// The members of a request that say which version the client has; nil if it has none of this window.
  var version: String? {
    guard !needsReload, !replica.isStale, stateWindow == window, let epoch = replica.view.epoch,
      let revision = replica.view.revision
    else { return nil }
    return ",\"epoch\":\(JSONValue.quoted(epoch)),\"revision\":\(revision)"
  }

  /// Its entry in a request.
  var entry: String { "{\"feed\":\(JSONValue.quoted(feed.rawValue))\(window.members)\(version ?? "")}" }

  /// Makes `shown` again.
  mutating func overlay() {
    var view = confirmed
    view.standing = shown.standing
    if !pending.isEmpty, confirmed.exists {
      (view.state, view.isPending) = PendingOverlay(pending, window: window).applied(
        to: confirmed.state,
        former: shown.state
      )
    }
    shown = view
  }
}

/// A stream of many feeds to one instance.
struct StreamState {
  enum Phase {
    case idle
    /// It failed or ended, and connects again.
    case waiting(until: Date)
    case connecting
    /// Events can arrive; the id comes with the first one.
    case open(id: String?)
  }

  let server: Int
  /// What it should follow, by feed.
  var members: [FeedID: Int] = [:]
  /// What the server was asked for.
  var sent: [FeedID: FeedWindow] = [:]
  /// The feeds of the newest request, in its order.
  var listed: [FeedID] = []
  /// The feeds of which something was not taken, because another instance has them.
  var ignored: Set<FeedID> = []
  var phase = Phase.idle
  var attempt = 0
  /// When the first event of this attempt arrived.
  var since: Date?
  var failures = 0
  /// What the server wishes a client to wait, in seconds.
  var retry = 3.0
  var isPatching = false
  var token: String?
  /// Whether that token was refused, or has ended.
  var isTokenRefused = false
}
