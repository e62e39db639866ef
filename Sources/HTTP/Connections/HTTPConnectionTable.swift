/// The open connections, their deadlines, and the choice of a victim when the limit is reached. No I/O and no
/// clock: the caller passes the time, in milliseconds of a monotonic clock.
///
/// A connection that has not sent a complete request does not block others: if the limit is reached, the oldest of
/// these is closed. Nor does a client with many requests block clients with fewer: its oldest response is cut off.
struct HTTPConnectionTable: Sendable {
  /// The number of connections above the limit that may receive an error response; as many again may be closing.
  static let reserve = 64
  /// Milliseconds from a rejection, or the end of a connection, until its socket is closed.
  private static let leavingMilliseconds: Int64 = 2_000

  enum Phase: Sendable, Equatable {
    /// The first head is incomplete.
    case firstHead
    /// A head is complete, and its content is not.
    case content
    /// A request is being answered.
    case answer
    /// A stream is being sent.
    case stream
    /// The response was sent, and no new request has started.
    case idle
    /// Part of another head has arrived.
    case nextHead
    /// The connection was rejected, or is closing.
    case leaving

    /// Whether the client must send something before the server does anything.
    var owesRequest: Bool {
      switch self {
      case .firstHead, .content, .idle, .nextHead: true
      case .answer, .stream, .leaving: false
      }
    }
  }

  struct Connection: Sendable {
    /// The client's address group, the same for all addresses that one client can easily obtain.
    let address: String
    fileprivate(set) var phase = Phase.firstHead
    /// The start of the current phase.
    fileprivate(set) var since: Int64
    /// The deadline of the connection; nil for a stream.
    fileprivate(set) var deadline: Int64?
    /// Whether libmicrohttpd serves it and closes its socket.
    fileprivate(set) var isServed = false
    /// The bytes that the client had sent when its last request was complete.
    fileprivate(set) var receivedBytes: UInt64 = 0
  }

  enum Admission: Sendable, Equatable {
    /// The connection was admitted.
    ///
    /// - Parameter evicted: the socket of a connection that must be closed for it.
    case admitted(evicted: Int32?)
    /// The limit is reached: the connection receives an error and is closed.
    case refused(String)
    /// There is no room even for an error: close it at once.
    case dropped
  }

  private let limits: HTTPServerConfiguration
  private let reserve: Int
  private(set) var connections: [Int32: Connection] = [:]
  private var leavingCount = 0
  /// The number of connections by address group, without closing ones.
  private var counts = AddressCounts()

  init(_ limits: HTTPServerConfiguration, reserve: Int = Self.reserve) {
    self.limits = limits
    self.reserve = reserve
  }

  var count: Int { connections.count }

  /// Adds a new connection. O(n) for n connections if the limit is reached.
  mutating func open(_ socket: Int32, from address: String, at now: Int64) -> Admission {
    // An earlier connection with this socket number was closed without notice.
    close(socket)
    guard connections.count < limits.maxConnections + 2 * reserve else { return .dropped }
    var evicted: Int32?
    if connections.count - leavingCount >= limits.maxConnections
      || counts[address] >= limits.maxConnectionsPerAddress
    {
      let isOfAddress = counts[address] >= limits.maxConnectionsPerAddress
      evicted =
        oldestIncomplete(of: isOfAddress ? address : nil) ?? (isOfAddress ? nil : oldestAnswer(for: address))
      guard let evicted else {
        guard leavingCount < reserve else { return .dropped }
        connections[socket] = Connection(
          address: address,
          phase: .leaving,
          since: now,
          deadline: now + Self.leavingMilliseconds
        )
        leavingCount += 1
        return .refused(
          isOfAddress
            ? "\(limits.maxConnectionsPerAddress) connections from \(address) are open, which is the maximum"
            : "\(limits.maxConnections) connections are open, which is the maximum"
        )
      }
      leave(evicted, at: now)
    }
    connections[socket] = Connection(address: address, since: now, deadline: now + limits.headMilliseconds)
    counts.add(address)
    return .admitted(evicted: evicted)
  }

  /// Marks a connection as closing.
  mutating func leave(_ socket: Int32, at now: Int64) {
    guard let connection = connections[socket], connection.phase != .leaving else { return }
    change(socket, to: .leaving, at: now, deadline: now + Self.leavingMilliseconds)
    leavingCount += 1
    counts.remove(connection.address)
  }

  /// Records that a request, or its head, is complete; `receivedBytes` is the number of received bytes.
  mutating func beginAnswer(_ socket: Int32, receivedBytes: UInt64, at now: Int64) {
    // Called when a connection is handed over, and again when its head is read.
    guard let connection = connections[socket], connection.phase != .answer else { return }
    connections[socket]?.receivedBytes = receivedBytes
    change(socket, to: .answer, at: now, deadline: now + limits.answerMilliseconds)
  }

  /// Records that a request with a complete head has content, which has the same time limit as a head.
  mutating func awaitContent(_ socket: Int32, at now: Int64) {
    change(socket, to: .content, at: now, deadline: now + limits.headMilliseconds)
  }

  /// A closing connection to close at once, if there are too many; otherwise nil. O(n) for n connections if there are
  /// too many.
  func excessLeaving() -> Int32? {
    guard leavingCount > reserve else { return nil }
    return connections.lazy.filter { $0.value.phase == .leaving && !$0.value.isServed }
      .min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }?.key
  }

  /// Records that libmicrohttpd has started to serve a connection.
  mutating func serve(_ socket: Int32) {
    connections[socket]?.isServed = true
  }

  /// Extends the deadline of a connection that libmicrohttpd has not started to serve. Its socket must not be touched,
  /// because it may already be closed, and the entry is needed once the connection is served.
  mutating func waitForServer(_ socket: Int32, at now: Int64) {
    guard let connection = connections[socket], !connection.isServed else { return }
    guard connection.phase != .leaving else { return close(socket) }
    connections[socket]?.deadline = now + limits.answerMilliseconds
  }

  /// Records the size of a response, which extends the client's deadline proportionally.
  mutating func send(_ byteCount: Int, to socket: Int32) {
    guard let connection = connections[socket], connection.phase == .answer else { return }
    let more = Int64(byteCount) * 1000 / Int64(limits.answerBytesPerSecond)
    connections[socket]?.deadline = connection.since + limits.answerMilliseconds + more
  }

  /// Records that the response is a stream, which has no deadline.
  mutating func beginStream(_ socket: Int32, at now: Int64) {
    change(socket, to: .stream, at: now, deadline: nil)
  }

  /// Records that a stream has ended: the client must read the rest within the time for a response.
  mutating func endStream(_ socket: Int32, at now: Int64) {
    guard connections[socket]?.phase == .stream else { return }
    change(socket, to: .answer, at: now, deadline: now + limits.answerMilliseconds)
  }

  /// Records that a response was sent; `receivedBytes` is the number of bytes that the client has sent.
  mutating func endAnswer(_ socket: Int32, receivedBytes: UInt64, at now: Int64) {
    change(socket, to: .idle, at: now, deadline: now + 1000 * Int64(limits.idleTimeoutSeconds))
    observe(socket, receivedBytes: receivedBytes, at: now)
  }

  /// Updates the number of bytes that an idle connection's client has sent.
  mutating func observe(_ socket: Int32, receivedBytes: UInt64, at now: Int64) {
    guard let connection = connections[socket], connection.phase == .idle,
      receivedBytes != connection.receivedBytes
    else { return }
    change(socket, to: .nextHead, at: now, deadline: now + limits.headMilliseconds)
  }

  /// Removes a connection whose socket is about to be closed.
  mutating func close(_ socket: Int32) {
    guard let connection = connections.removeValue(forKey: socket) else { return }
    if connection.phase == .leaving { leavingCount -= 1 } else { counts.remove(connection.address) }
  }

  /// The sockets of connections past their deadline. Closing ones are included each time.
  func expired(at now: Int64) -> [Int32] {
    connections.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
  }

  private mutating func change(_ socket: Int32, to phase: Phase, at now: Int64, deadline: Int64?) {
    // A closing connection stays closing.
    guard let connection = connections[socket], connection.phase != .leaving else { return }
    connections[socket]?.phase = phase
    connections[socket]?.since = now
    connections[socket]?.deadline = deadline
  }

  /// The victim: the oldest response of the busiest address. Nil if that address is not busier than the newcomer's. A
  /// connection that libmicrohttpd has not started to serve is exempt; see ``waitForServer(_:at:)``.
  private func oldestAnswer(for address: String) -> Int32? {
    let candidates = connections.filter { _, connection in
      connection.phase == .answer && connection.isServed && counts.mustYield(connection.address, to: address)
    }
    func rank(_ connection: Connection) -> Int { -counts[connection.address] }
    return Self.oldest(candidates, by: rank)
  }

  /// Connections that have started a request are preferred to idle ones.
  private func oldestIncomplete(of address: String?) -> Int32? {
    let candidates = connections.filter { _, connection in
      connection.phase.owesRequest && (address == nil || connection.address == address)
    }
    return Self.oldest(candidates) { $0.phase == .idle ? 1 : 0 }
  }

  /// The socket of the oldest connection with the least rank.
  private static func oldest(_ connections: [Int32: Connection], by rank: (Connection) -> Int) -> Int32? {
    func order(_ socket: Int32, _ connection: Connection) -> (Int, Int64, Int32) {
      (rank(connection), connection.since, socket)
    }
    return connections.min { order($0.key, $0.value) < order($1.key, $1.value) }?.key
  }
}

/// The state of one connection that libmicrohttpd serves.
final class HTTPConnection: Sendable {
  /// The client's address group, the same for all addresses that one client can easily obtain.
  let addressGroup: String
  let socket: Int32
  /// Whether it is closed after one request.
  let isBrief: Bool

  init(_ address: IPAddress?, socket: Int32, isBrief: Bool) {
    addressGroup = address?.clientGroup ?? ""
    self.socket = socket
    self.isBrief = isBrief
  }
}

/// The number of connections or streams of each address group, and the choice of the group that makes room
/// for another.
struct AddressCounts: Sendable {
  private var counts: [String: Int] = [:]

  subscript(address: String) -> Int { counts[address] ?? 0 }

  mutating func add(_ address: String) { counts[address, default: 0] += 1 }

  mutating func remove(_ address: String) {
    let left = self[address] - 1
    counts[address] = left > 0 ? left : nil
  }

  /// Whether an address makes room for one more of another: it has more, even afterwards.
  func mustYield(_ address: String, to other: String) -> Bool { self[address] > self[other] + 1 }
}
