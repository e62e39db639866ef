/// Which connections there are, what each may take its time for, and who goes when places run out. Without I/O and
/// without a clock: times are milliseconds that the caller gives, and never go back.
///
/// A connection whose client owes a request's head keeps nobody else out: when there is no place, the one that has
/// owed it the longest goes.
struct HTTPConnectionTable: Sendable {
  /// How many there may be, and how long each thing may take, in milliseconds.
  struct Limits: Sendable, Equatable {
    var connections = 2048
    var connectionsPerAddress = 1536
    /// From a head's first byte, or the connection's start, to the head's end.
    var head: Int64 = 10_000
    /// Between an answer and the next request's first byte.
    var idle: Int64 = 60_000
    /// From a head to the end of its answer, if that is short.
    var answer: Int64 = 30_000
    /// Bytes of an answer that prolong that by a second.
    var answerBytesPerSecond = 64 << 10
    /// From a refusal, or the end of a connection, until its socket is closed.
    var leaving: Int64 = 2_000
    /// How many connections may be told why they are leaving, above the limit; as many again are being closed.
    var reserve = 64
  }

  enum Phase: Sendable, Equatable {
    /// The first head is not whole.
    case firstHead
    /// A request is being answered.
    case answer
    /// A stream is being sent.
    case stream
    /// An answer was sent, and nothing has come since.
    case idle
    /// A part of another head has come.
    case nextHead
    /// It was refused, or is being closed.
    case leaving

    /// Whether its client has to send a head before anything is done for it.
    var owesHead: Bool {
      switch self {
      case .firstHead, .idle, .nextHead: true
      case .answer, .stream, .leaving: false
      }
    }
  }

  struct Connection: Sendable {
    /// Of its client; all addresses that one client can easily have are the same.
    let address: String
    fileprivate(set) var phase = Phase.firstHead
    /// When its phase began.
    fileprivate(set) var since: Int64
    /// When it is to be closed; nil for a stream.
    fileprivate(set) var deadline: Int64?
    /// Whether libmicrohttpd has it, and closes its socket.
    fileprivate(set) var isServed = false
    /// What its client had sent when the head of its last request was whole.
    fileprivate(set) var receivedBytes: UInt64 = 0
  }

  enum Admission: Sendable, Equatable {
    /// It has a place.
    ///
    /// - Parameter evicted: The socket of a connection that has to go for it, and is leaving.
    case admitted(evicted: Int32?)
    /// It has none, and is leaving.
    case refused(String)
    /// There is no room even to tell it: it is to be closed, and not known.
    case dropped
  }

  let limits: Limits
  private(set) var connections: [Int32: Connection] = [:]
  private var leavingCount = 0
  /// How many are not leaving.
  private var countByAddress: [String: Int] = [:]

  init(_ limits: Limits) {
    self.limits = limits
  }

  var count: Int { connections.count }

  /// Takes a new connection in. O(n) for n connections if places have run out.
  mutating func open(_ socket: Int32, from address: String, at now: Int64) -> Admission {
    // What had this number was closed without a word.
    close(socket)
    guard connections.count < limits.connections + 2 * limits.reserve else { return .dropped }
    var evicted: Int32?
    if connections.count - leavingCount >= limits.connections
      || countByAddress[address] ?? 0 >= limits.connectionsPerAddress
    {
      let isOfAddress = countByAddress[address] ?? 0 >= limits.connectionsPerAddress
      evicted = oldestOwingHead(of: isOfAddress ? address : nil)
      guard let evicted else {
        guard leavingCount < limits.reserve else { return .dropped }
        connections[socket] = Connection(
          address: address,
          phase: .leaving,
          since: now,
          deadline: now + limits.leaving
        )
        leavingCount += 1
        return .refused(
          isOfAddress
            ? "\(limits.connectionsPerAddress) connections from \(address) are open, which is the maximum"
            : "\(limits.connections) connections are open, which is the maximum"
        )
      }
      leave(evicted, at: now)
    }
    connections[socket] = Connection(address: address, since: now, deadline: now + limits.head)
    countByAddress[address, default: 0] += 1
    return .admitted(evicted: evicted)
  }

  /// Notes that a connection is to be closed.
  mutating func leave(_ socket: Int32, at now: Int64) {
    guard let connection = connections[socket], connection.phase != .leaving else { return }
    change(socket, to: .leaving, at: now, deadline: now + limits.leaving)
    leavingCount += 1
    removeFromCount(connection.address)
  }

  /// Notes that a head is whole, the first or another.
  ///
  /// - Parameter receivedBytes: What its client has sent so far.
  mutating func beginAnswer(_ socket: Int32, receivedBytes: UInt64, at now: Int64) {
    // Told when it is handed over, and again when it is read.
    guard let connection = connections[socket], connection.phase != .answer else { return }
    connections[socket]?.receivedBytes = receivedBytes
    change(socket, to: .answer, at: now, deadline: now + limits.answer)
  }

  /// Who is to be closed at once, as too many are leaving; nil if they are not. O(n) for n connections if they are.
  func excessLeaving() -> Int32? {
    guard leavingCount > limits.reserve else { return nil }
    return connections.lazy.filter { $0.value.phase == .leaving && !$0.value.isServed }
      .min { ($0.value.since, $0.key) < ($1.value.since, $1.key) }?.key
  }

  /// Notes that libmicrohttpd has begun to serve a connection.
  mutating func serve(_ socket: Int32) {
    connections[socket]?.isServed = true
  }

  /// Gives a connection that libmicrohttpd has not begun with more time: nothing may be done to its socket, which may be
  /// closed already, and once it is served it must be known here.
  mutating func waitForServer(_ socket: Int32, at now: Int64) {
    guard let connection = connections[socket], !connection.isServed else { return }
    guard connection.phase != .leaving else { return close(socket) }
    connections[socket]?.deadline = now + limits.answer
  }

  /// Notes how long an answer is. Its client has time for it in proportion.
  mutating func send(_ byteCount: Int, to socket: Int32) {
    guard let connection = connections[socket], connection.phase == .answer else { return }
    let more = Int64(byteCount) * 1000 / Int64(limits.answerBytesPerSecond)
    connections[socket]?.deadline = connection.since + limits.answer + more
  }

  /// Notes that an answer is a stream, which may take any time.
  mutating func beginStream(_ socket: Int32, at now: Int64) {
    change(socket, to: .stream, at: now, deadline: nil)
  }

  /// Notes that nothing more is written to a stream: its client has the time of an answer to take the rest.
  mutating func endStream(_ socket: Int32, at now: Int64) {
    guard connections[socket]?.phase == .stream else { return }
    change(socket, to: .answer, at: now, deadline: now + limits.answer)
  }

  /// Notes that an answer was sent.
  ///
  /// - Parameter receivedBytes: What its client has sent so far.
  mutating func endAnswer(_ socket: Int32, receivedBytes: UInt64, at now: Int64) {
    change(socket, to: .idle, at: now, deadline: now + limits.idle)
    observe(socket, receivedBytes: receivedBytes, at: now)
  }

  /// Notes what an idle connection's client has sent so far.
  mutating func observe(_ socket: Int32, receivedBytes: UInt64, at now: Int64) {
    guard let connection = connections[socket], connection.phase == .idle,
      receivedBytes != connection.receivedBytes
    else { return }
    change(socket, to: .nextHead, at: now, deadline: now + limits.head)
  }

  /// Forgets a connection, whose socket is about to be closed.
  mutating func close(_ socket: Int32) {
    guard let connection = connections.removeValue(forKey: socket) else { return }
    if connection.phase == .leaving { leavingCount -= 1 } else { removeFromCount(connection.address) }
  }

  /// The sockets whose connections have taken too long. Those that are leaving already are told again each time.
  func expired(at now: Int64) -> [Int32] {
    connections.filter { $0.value.deadline.map { $0 <= now } ?? false }.map(\.key)
  }

  private mutating func change(_ socket: Int32, to phase: Phase, at now: Int64, deadline: Int64?) {
    // Whoever leaves does not come back.
    guard let connection = connections[socket], connection.phase != .leaving else { return }
    connections[socket]?.phase = phase
    connections[socket]?.since = now
    connections[socket]?.deadline = deadline
  }

  private mutating func removeFromCount(_ address: String) {
    let left = (countByAddress[address] ?? 1) - 1
    countByAddress[address] = left > 0 ? left : nil
  }

  /// Who has begun a head goes before who is idle.
  private func oldestOwingHead(of address: String?) -> Int32? {
    var oldest: (socket: Int32, isIdle: Bool, since: Int64)?
    for (socket, connection) in connections
    where connection.phase.owesHead && (address == nil || connection.address == address) {
      let isIdle = connection.phase == .idle
      if let best = oldest {
        guard (isIdle ? 1 : 0, connection.since, socket) < (best.isIdle ? 1 : 0, best.since, best.socket)
        else { continue }
      }
      oldest = (socket, isIdle, connection.since)
    }
    return oldest?.socket
  }
}
