import Foundation

struct HandleID: Hashable, Sendable { let number: Int }
struct WriteID: Hashable, Sendable { let number: Int }

/// Since 1970, or a duration: whole numbers, so that a test can compare them.
typealias Milliseconds = Int

/// A request to a server. Its number says which one an answer is for.
struct Call: Sendable {
  let method: String
  let url: URL
  var body: String?
  var token: String?
  /// For how many seconds the server may wait.
  var wait = 0
  /// Whether the response is a stream of events.
  var isStream = false
}

/// The outcome of a request: a response, or an error.
struct Answer: Sendable {
  /// Nil if there was no response.
  var status: Int?
  var object: JSONObject?
  var problem: HTTPProblem
  /// Whether a stream of events begins.
  var isStream = false
  /// Whether the server may have received the request.
  var wasSent = true
}

/// Everything that a program follows and writes, without input and output: its methods say what to do in `effects`.
///
/// - A *handle* is a `Feed`. A *follow* is a feed with a window, for all handles that show it: a view of the protocol.
/// - A *stream* follows up to 256 of them at one instance.
/// - A follow of which it is not known which instance has it (no `home`) is on a stream of every instance.
struct StoreMachine {
  enum Effect {
    case askToken
    case send(Int, Call)
    case abort(Int)
    case setTimer(Timer, Milliseconds)
    case cancelTimer(Timer)
    case show(HandleID, FeedUpdate)
    case finish(WriteID, Result<Written, any Error>)
    /// The worst standing of all that is followed.
    case standing(Standing)
  }

  enum Timer: Hashable, Sendable {
    /// Sends what has changed: several changes in a row make one request.
    case flush
    case late(stream: Int)
    case silence(stream: Int)
    case wait(stream: Int)
    case refetch(follow: Int)
    case moving(follow: Int)
    case pending(follow: Int)
    case limit(request: Int)
    case early(exchange: Int)
    case renewal
  }

  static let maxEntries = 256
  static let maxPendingWrites = 1000
  static let maxUnfinishedWrites = 4
  static let lateAfter = 10_000
  static let silence = 60_000
  /// `reconnect()` opens a stream again that received nothing for so long.
  static let idle = 20_000
  /// A stream that had events for so long is opened again at once, after a random part of `atOnce`.
  static let steady = 5_000
  static let atOnce = 50.0
  static let firstWait = 3_000
  static let maxWait = 30_000
  /// The least spread above `Retry-After`.
  static let leastSpread = 1_500.0
  static let answerLimit = 30_000
  /// For how long an instance that gets a feed may say that there is none.
  static let moving = 30_000
  /// How long a write is shown while the feed is live, if nothing includes it: one that was published, and any other.
  static let publishedShown = 5_000
  static let sentShown = 60_000

  private var effects: [Effect] = []
  /// By their number, those of the program first; others are known from `moved`.
  var servers: [URL]
  let ownServers: Int
  /// The view of each.
  private var handles: [HandleID: Int] = [:]
  var follows: [Int: Follow] = [:]
  var streams: [Int: StreamState] = [:]
  /// The writes that are not over, in their order.
  var writes: [FeedID: [PendingWrite]] = [:]
  var tokens: HeldTokens
  var exchanges: [Int: Exchange] = [:]
  /// The receiver of the answer to each request.
  var requests: [Int: Taker] = [:]
  private var isFlushScheduled = false
  private(set) var isClosed = false
  private var (lastNumber, lastRequest, lastView) = (0, 0, 0)
  private var lastStanding = Standing.live
  /// Whether nothing has happened that changes a standing.
  var areStandingsKnown = true
  let clock: @Sendable () -> Milliseconds
  /// From 0 to 1.
  let random: @Sendable () -> Double

  enum Taker {
    case stream(Int)
    case exchange(Int)
  }

  init(
    servers: [URL],
    hasTokens: Bool,
    clock: @escaping @Sendable () -> Milliseconds = { Int(Date().timeIntervalSince1970 * 1000) },
    random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
  ) {
    self.servers = []
    for server in servers.map(Self.normalized) where !self.servers.contains(server) {
      self.servers.append(server)
    }
    ownServers = self.servers.count
    tokens = HeldTokens(hasCallback: hasTokens)
    self.clock = clock
    self.random = random
  }

  var now: Milliseconds { clock() }

  /// The effects of an input.
  mutating func takeEffects() -> [Effect] {
    showStandings()
    defer { effects = [] }
    return effects
  }

  mutating func add(_ effect: Effect) { effects.append(effect) }
  mutating func set(_ timer: Timer, _ milliseconds: Milliseconds) { add(.setTimer(timer, milliseconds)) }
  mutating func cancel(_ timers: Timer...) { for timer in timers { add(.cancelTimer(timer)) } }

  mutating func newNumber() -> Int {
    lastNumber += 1
    return lastNumber
  }

  /// Sends a request.
  ///
  /// - Parameter limit: How long to wait for the answer.
  mutating func send(_ call: Call, _ taker: Taker, limit: Milliseconds? = nil) -> Int {
    lastRequest += 1
    requests[lastRequest] = taker
    add(.send(lastRequest, call))
    if let limit { set(.limit(request: lastRequest), limit) }
    return lastRequest
  }

  mutating func end(_ request: Int) {
    if requests.removeValue(forKey: request) != nil { cancel(.limit(request: request)) }
  }

  mutating func abort(_ request: Int) {
    guard requests[request] != nil else { return }
    end(request)
    add(.abort(request))
  }

  // Handles.

  mutating func add(_ feed: FeedID, _ window: FeedWindow) -> (handle: HandleID, view: FeedView) {
    let handle = HandleID(number: newNumber())
    let number = follow(of: feed, window) ?? newFollow(Follow(feed, window))
    handles[handle] = number
    follows[number]?.handles[handle] = 0
    return (handle, follows[number]?.shown ?? FeedView(feed: feed, standing: .connecting))
  }

  private mutating func newFollow(_ follow: Follow) -> Int {
    let number = newNumber()
    follows[number] = follow
    return number
  }

  private func follow(of feed: FeedID, _ window: FeedWindow) -> Int? {
    follows.first { $0.value.feed == feed && $0.value.window == window }?.key
  }

  mutating func remove(_ handle: HandleID) {
    if let number = handles.removeValue(forKey: handle) { leave(number, handle) }
  }

  private mutating func leave(_ number: Int, _ handle: HandleID) {
    follows[number]?.handles[handle] = nil
    change()
    guard let follow = follows[number], follow.handles.isEmpty else { return }
    for place in follow.places.values { streams[place.stream]?.follows.removeAll { $0 == number } }
    follows[number] = nil
    cancel(.refetch(follow: number), .moving(follow: number), .pending(follow: number))
    forgetWrites(follow.feed)
  }

  /// Whether the feed is known not to exist.
  mutating func listen(_ handle: HandleID) -> Bool {
    addListeners(1, handle)
    return shown(by: handle)?.isAbsent ?? false
  }

  mutating func unlisten(_ handle: HandleID) { addListeners(-1, handle) }

  private mutating func addListeners(_ count: Int, _ handle: HandleID) {
    guard let number = handles[handle] else { return }
    follows[number]?.handles[handle]? += count
    if count > 0, follows[number]?.listeners == 1 { follows[number]?.fault = nil }
    nameView(number)
    change()
    // Writes are shown only with a listener: nothing would confirm them.
    if follows[number].map({ writes[$0.feed] != nil }) ?? false { refresh(number) }
  }

  /// Views are named in the order in which they are followed first.
  private mutating func nameView(_ number: Int) {
    guard follows[number]?.view == "", follows[number]?.listeners ?? 0 > 0 else { return }
    lastView += 1
    follows[number]?.view = "\(lastView)"
  }

  mutating func show(_ handle: HandleID, _ window: FeedWindow) {
    guard let former = handles[handle], let follow = follows[former], follow.window != window else { return }
    let other = self.follow(of: follow.feed, window)
    change()
    if other == nil, follow.handles.count == 1 {
      follows[former]?.window = window
      follows[former]?.fault = nil
      follows[former]?.expectReload(isMisfit: false)
      // Back again before the server was asked: it would send no state.
      let home = follow.home.flatMap { follow.places[$0] }
      if home?.changes == 0, home?.asked?.window == window { follows[former]?.round += 1 }
      return refresh(former)
    }
    let number = other ?? newFollow(follow.withOther(window))
    handles[handle] = number
    follows[number]?.handles[handle] = follow.handles[handle]
    nameView(number)
    refresh(number)
    leave(former, handle)
    guard other != nil, let follow = follows[number], follow.shown.exists || follow.isAbsent else { return }
    add(.show(handle, FeedUpdate(kind: follow.isAbsent ? .absent : .state, view: follow.shown)))
  }

  /// The feed and the window that a handle shows, and what it shows.
  func shown(by handle: HandleID) -> Follow? { handles[handle].flatMap { follows[$0] } }

  /// Ends everything.
  mutating func close() {
    isClosed = true
    dropWrites("the store was closed")
    for number in streams.keys.sorted() { close(number) }
    for request in requests.keys.sorted() { abort(request) }
    (handles, follows, streams, exchanges) = ([:], [:], [:], [:])
    areStandingsKnown = false
  }

  // Where feeds are followed.

  /// Notes that streams may have to follow something else.
  mutating func change() {
    areStandingsKnown = false
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    set(.flush, 10)
  }

  mutating func flush() {
    (isFlushScheduled, areStandingsKnown) = (false, false)
    guard !isClosed else { return }
    for number in follows.keys.sorted() { placeFollow(number) }
    for number in streams.keys.sorted() { update(number) }
  }

  private mutating func placeFollow(_ number: Int) {
    guard let follow = follows[number] else { return }
    let wanted =
      follow.listeners == 0 ? [] : follow.home.map { [$0] } ?? Array(0..<ownServers) + follow.named
    for (server, place) in follow.places where !wanted.contains(server) {
      streams[place.stream]?.follows.removeAll { $0 == number }
      follows[number]?.places[server] = nil
    }
    for server in wanted where follow.places[server] == nil {
      let stream = freeStream(of: server)
      streams[stream]?.follows.append(number)
      let place = Follow.Place(stream: stream, order: newNumber())
      follows[number]?.places[server] = place
    }
    if follow.listeners == 0 { follows[number]?.home = nil }
  }

  private mutating func freeStream(of server: Int) -> Int {
    for (number, stream) in streams.sorted(by: { $0.key < $1.key }) where stream.server == server {
      if stream.follows.count < Self.maxEntries { return number }
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

  func standing(of follow: Follow) -> Standing {
    if follow.listeners == 0 { return .connecting }
    if let fault = follow.fault { return .stale(.badRequest, detail: fault) }
    if let home = follow.home.flatMap({ follow.places[$0] }), isOpen(home), home.notice == nil {
      if follow.isMisfit { return .stale(.mustRefetch) }
      let isLive = home.isUpToDate && home.changes == 0 && home.asked == follow.wanted
      return isLive ? .live : .catchingUp
    }
    let places = follow.places.values.sorted { $0.order < $1.order }
    if follow.isAbsent, follow.isNowhere(ownServers) { return .live }
    if places.contains(where: { isOpen($0) && $0.notice == nil }) { return .catchingUp }
    if places.contains(where: { $0.notice == .moved }) { return .stale(.moved) }
    if places.contains(where: { $0.notice == .forbidden }) { return .stale(.forbidden) }
    return places.lazy.compactMap { streams[$0.stream]?.trouble }.first ?? .connecting
  }

  private func isOpen(_ place: Follow.Place) -> Bool { streams[place.stream]?.phase == .open }

  /// Shows standings that have changed, and the worst one.
  private mutating func showStandings() {
    guard !areStandingsKnown else { return }
    let changed = follows.compactMap { number, follow in
      let standing = standing(of: follow)
      return standing == follow.lastStanding ? nil : (number: number, standing: standing)
    }
    for (number, standing) in changed.sorted(by: { $0.number < $1.number }) {
      let now = now
      follows[number]?.note(standing, now)
      show(number, .standing)
      if let feed = follows[number]?.feed, writes[feed] != nil { refresh(number) }
    }
    areStandingsKnown = true
    let worst = worstStanding
    if worst != lastStanding { add(.standing(worst)) }
    lastStanding = worst
  }

  /// The worst standing of all that is followed; of several, the one that was followed first.
  var worstStanding: Standing {
    let followed = handles.sorted { $0.key.number < $1.key.number }.compactMap { handle, number in
      follows[number].flatMap { $0.handles[handle] ?? 0 > 0 ? $0.shown.standing : nil }
    }
    return followed.reduce(.live) { $1.severity > $0.severity ? $1 : $0 }
  }

  mutating func show(_ number: Int, _ kind: FeedUpdate.Kind) {
    guard let follow = follows[number] else { return }
    if follow.lastStanding != follow.shown.standing { areStandingsKnown = false }
    follows[number]?.lastStanding = follow.shown.standing
    for handle in follow.handles.keys.sorted(by: { $0.number < $1.number }) {
      add(.show(handle, FeedUpdate(kind: kind, view: follow.shown)))
    }
  }

  /// Makes what a follow shows, which is the published state with the writes that it does not include, and shows what has changed.
  mutating func refresh(_ number: Int, _ kind: FeedUpdate.Kind = .pending) {
    // Taken out, so that the state is not copied because of the dictionary.
    guard var follow = follows.removeValue(forKey: number) else { return }
    let (former, standing) = (follow.shown, standing(of: follow))
    follow.note(standing, now)
    var pending: [[PendingOperation]] = []
    var end: Milliseconds?
    for index in (writes[follow.feed] ?? []).indices where follow.listeners > 0 {
      let shown = writes[follow.feed]![index].isShown(in: follow, number, liveTime: follow.liveTime(now))
      guard shown.isShown else { continue }
      pending.append(writes[follow.feed]![index].operations)
      end = [end, shown.until].compactMap { $0 }.min()
    }
    var view = follow.confirmed
    view.standing = standing
    if !pending.isEmpty, view.exists {
      let overlay = PendingOverlay(pending, window: follow.window)
      (view.state, view.isPending) = overlay.applied(to: view.state, former: former.state)
    }
    follow.shown = view
    follows[number] = follow
    if let end, standing == .live {
      set(.pending(follow: number), end - follow.liveTime(now))
    } else if former.isPending {
      cancel(.pending(follow: number))
    }
    let (hasWrites, isSame) = (view.isPending || former.isPending, view.isSame(as: former))
    switch kind {
    case .changed where hasWrites: show(number, .pending)
    case .standing where hasWrites, .pending: if !isSame { show(number, .pending) }
    default: show(number, kind)
    }
    forgetWrites(follow.feed)
  }

  mutating func refresh(_ feed: FeedID) {
    for number in follows.keys.sorted() where follows[number]?.feed == feed { refresh(number) }
  }

  mutating func fired(_ timer: Timer) {
    switch timer {
    case .flush: break
    case .late(let number): late(number)
    case .silence(let number):
      guard let stream = streams[number], stream.phase != .waiting else { return }
      // It was set for the first byte, and every later one counts.
      let left = stream.heard + Self.silence - now
      if left > 0 { set(timer, left) } else { fail(number, .disconnected) }
    case .wait(let number): if streams[number]?.phase == .waiting { connect(number) }
    case .refetch(let number):
      follows[number]?.isRefetching = false
      follows[number]?.round += 1
    case .moving(let number): if follows[number]?.isNowhere(ownServers) == true { deleted(number) }
    case .pending(let number): if let feed = follows[number]?.feed { refresh(feed) }
    case .limit(let request):
      guard let taker = requests[request] else { return }
      abort(request)
      let problem = HTTPProblem(status: 0, detail: "the server has not answered")
      take(Answer(problem: problem), taker)
    case .early(let exchange): if isWanted(exchange) { withToken(.exchange(exchange)) }
    case .renewal: renewToken()
    }
    flush()
  }

  /// A request was answered, or has failed. What earlier requests still say is ignored.
  mutating func answered(_ request: Int, _ answer: Answer) {
    guard let taker = requests[request] else { return }
    if !answer.isStream { end(request) }
    take(answer, taker)
    change()
  }

  private mutating func take(_ answer: Answer, _ taker: Taker) {
    switch taker {
    case .stream(let number): streamAnswered(number, answer)
    case .exchange(let number): exchangeAnswered(number, answer)
    }
  }
}

/// A feed with a window, and its state.
struct Follow {
  let feed: FeedID
  var window: FeedWindow
  /// Its name in the protocol; empty before it is followed.
  var view = ""
  /// How many listen to each handle.
  var handles: [HandleID: Int] = [:]

  var replica: Replica
  /// The newest state from the daemon.
  var confirmed: FeedView
  /// The confirmed state with the writes that it does not include.
  var shown: FeedView
  /// The standing of the last update.
  var lastStanding = Standing.connecting
  /// The newest version that the daemon has named.
  var known: (epoch: String, revision: Int)?
  var expectsReload = true
  /// Whether the state is known to be outdated.
  var isMisfit = false
  /// Whether it is asked for again soon.
  var isRefetching = false
  /// How often in a row a changeset did not fit.
  var refetches = 0
  /// Goes up whenever the state is wanted again.
  var round = 0

  /// By instance.
  var places: [Int: Place] = [:]
  /// The instance that has the feed.
  var home: Int?
  /// Instances that others were said to have it.
  var named: [Int] = []
  var isAbsent = false
  /// Why its entry was refused, so that it is not asked for again.
  var fault: String?
  private var lived = 0
  private var liveSince: Milliseconds?

  /// Its place on a stream.
  struct Place {
    enum Notice { case absent, moved, forbidden }

    let stream: Int
    /// Of several places, the first one counts.
    let order: Int
    /// The window and round that the server was asked for.
    var asked: Wanted?
    /// How many `must-refetch` come because the client has asked for something else.
    var changes = 0
    /// The instance's notice in place of the feed.
    var notice: Notice?
    var isUpToDate = false
  }

  struct Wanted: Equatable {
    let window: FeedWindow
    let round: Int
  }

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
    (other.replica, other.confirmed, other.shown) = (replica, confirmed, shown)
    other.expectReload(isMisfit: false)
    return other
  }

  var listeners: Int { handles.values.reduce(0, +) }
  var wanted: Wanted { Wanted(window: window, round: round) }

  /// Whether all instances have said that they do not have the feed.
  func isNowhere(_ servers: Int) -> Bool {
    let notices = places.values.map(\.notice)
    return notices.count >= servers && notices.contains(.absent)
      && notices.allSatisfy { $0 == .absent || $0 == .moved }
  }

  /// The next changeset is a reload.
  mutating func expectReload(isMisfit: Bool) {
    (expectsReload, self.isMisfit) = (true, isMisfit)
    replica.expectReload()
  }

  /// Nothing is shown any more, until there is a state.
  mutating func forget() {
    replica = Replica(feed)
    confirmed = replica.view
    (known, home, isAbsent) = (nil, nil, false)
    expectReload(isMisfit: false)
  }

  /// Its entry in a request.
  var entry: String {
    var version = ""
    if !expectsReload, let head = confirmed.head {
      version = ",\"epoch\":\(JSONValue.quoted(head.epoch)),\"revision\":\(head.revision)"
    }
    return "{\"feed\":\(JSONValue.quoted(feed.rawValue)),\"view\":\"\(view)\"\(window.members)\(version)}"
  }

  /// How long it has been live.
  func liveTime(_ now: Milliseconds) -> Milliseconds { lived + (liveSince.map { now - $0 } ?? 0) }

  mutating func note(_ standing: Standing, _ now: Milliseconds) {
    shown.standing = standing
    lived = liveTime(now)
    liveSince = standing == .live ? now : nil
  }
}
