import Glibc
import OperatingSystem
import Synchronization

/// Accepts connections of clients to the embedded broker, and forwards each to the broker through the gate.
final class GatedListener: Sendable {
  let port: UInt16
  private let socket: LocalSocket
  private let brokerPort: UInt16
  private let gate: InputGate
  private let state = Mutex(State())

  private struct State {
    var isStopped = false
    var connections: [ObjectIdentifier: GatedConnection] = [:]
  }

  /// - Returns: nil if it cannot listen.
  init?(brokerPort: UInt16, gate: InputGate) {
    guard let (socket, port) = LocalSocket.listen() else { return nil }
    self.socket = socket
    self.port = port
    self.brokerPort = brokerPort
    self.gate = gate
    guard Self.start("broker-gate", { self.serve() }) else { return nil }
  }

  /// Closes all connections and accepts no more.
  func stop() {
    gate.stop()
    socket.shutDown()
    let connections = state.withLock { state in
      state.isStopped = true
      return state.connections.values.map(\.self)
    }
    for connection in connections { connection.end() }
  }

  private func serve() {
    while let client = socket.accept() {
      guard let broker = LocalSocket.connect(port: brokerPort) else { continue }
      let connection = GatedConnection(
        client: client,
        broker: broker,
        gate: gate,
        ports: (brokerPort, port)
      )
      let isStopped = state.withLock { state in
        if !state.isStopped { state.connections[ObjectIdentifier(connection)] = connection }
        return state.isStopped
      }
      if isStopped { return }
      let isServed =
        Self.start("broker-gate-in") {
          connection.passRequests()
          self.forget(connection)
        } && Self.start("broker-gate-out") { connection.passAnswers() }
      if !isServed { forget(connection) }
    }
  }

  private static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
    let thread = SystemThread(name, body)
    thread?.detach()
    return thread != nil
  }

  private func forget(_ connection: GatedConnection) {
    connection.end()
    state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
  }
}

/// A client's connection to the embedded broker. Produce requests wait at the gate. Responses with the broker's address
/// are changed to the gate's. Everything else passes unchanged.
final class GatedConnection: Sendable {
  private let client: LocalSocket
  private let broker: LocalSocket
  private let gate: InputGate
  private let ports: (broker: UInt16, gate: UInt16)
  /// Pending requests whose responses are inspected, by correlation id.
  private let underWay = Mutex<[UInt32: RequestKind]>([:])

  private enum RequestKind {
    /// The response contains addresses.
    case address
    /// The response confirms that records are in the log.
    case write
  }

  /// The head of a request: remaining size, API key, API version, correlation id. A response starts with the first and
  /// the last of these.
  private static let requestHeadBytes = 12
  private static let answerHeadBytes = 8
  private static let produceKey: UInt16 = 0
  private static let metadataKey: UInt16 = 3
  private static let findCoordinatorKey: UInt16 = 10
  /// Responses with addresses are much smaller.
  private static let greatestCopiedBytes = 16 << 20
  /// The part of a produce request that ``ProduceHead`` examines.
  private static let produceHeadBytes = 1024
  private static let chunkBytes = 64 << 10

  init(client: LocalSocket, broker: LocalSocket, gate: InputGate, ports: (broker: UInt16, gate: UInt16)) {
    self.client = client
    self.broker = broker
    self.gate = gate
    self.ports = ports
  }

  func end() {
    client.shutDown()
    broker.shutDown()
  }

  func passRequests() {
    defer {
      end()
      // Releases the gate from requests that will not be answered.
      let writes = underWay.withLock { underWay in
        defer { underWay = [:] }
        return underWay.values.count { $0 == .write }
      }
      gate.answer(writes)
    }
    var head = [UInt8](repeating: 0, count: Self.requestHeadBytes)
    while head.withUnsafeMutableBytes({ client.read(into: $0) }) {
      let bytes = Int(Self.number(head[0..<4]))
      guard bytes >= Self.requestHeadBytes - 4, bytes <= Int32.max else { return }
      var left = bytes + 4 - Self.requestHeadBytes
      var body: [UInt8] = []
      var kind: RequestKind?
      switch UInt16(truncatingIfNeeded: Self.number(head[4..<6])) {
      case Self.produceKey:
        guard gate.mayPass(bytes: bytes) else { return }
        body = [UInt8](repeating: 0, count: min(left, Self.produceHeadBytes))
        left -= body.count
        guard body.withUnsafeMutableBytes({ client.read(into: $0) }) else { return }
        let version = Self.number(head[6..<8])
        if ProduceHead.wantsAnswer(version: version, body) { kind = .write }
        guard gate.admit(bytes: bytes, isAnswered: kind == .write) else { return }
      case Self.metadataKey, Self.findCoordinatorKey: kind = .address
      default: break
      }
      let identifier = Self.number(head[8..<12])
      if let kind { underWay.withLock { $0[identifier] = kind } }
      guard head.withUnsafeBytes({ broker.write($0) }), body.withUnsafeBytes({ broker.write($0) }),
        Self.copy(left, from: client, to: broker)
      else { return }
    }
  }

  func passAnswers() {
    defer { end() }
    var head = [UInt8](repeating: 0, count: Self.answerHeadBytes)
    while head.withUnsafeMutableBytes({ broker.read(into: $0) }) {
      let bytes = Int(Self.number(head[0..<4])) + 4 - Self.answerHeadBytes
      guard bytes >= 0, head.withUnsafeBytes({ client.write($0) }) else { return }
      let identifier = Self.number(head[4..<8])
      let kind = underWay.withLock { $0.removeValue(forKey: identifier) }
      if kind == .write { gate.answer(1) }
      guard kind == .address, bytes <= Self.greatestCopiedBytes else {
        guard Self.copy(bytes, from: broker, to: client) else { return }
        continue
      }
      var answer = [UInt8](repeating: 0, count: bytes)
      guard answer.withUnsafeMutableBytes({ broker.read(into: $0) }) else { return }
      Self.replaceAddresses(in: &answer, of: ports.broker, by: ports.gate)
      guard answer.withUnsafeBytes({ client.write($0) }) else { return }
    }
  }

  /// Replaces ports in a response's addresses. In every version, a host name is followed by its port in four bytes.
  static func replaceAddresses(in answer: inout [UInt8], of port: UInt16, by replacement: UInt16) {
    let address = Array("127.0.0.1".utf8) + [0, 0, UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
    var start = 0
    while start + address.count <= answer.count {
      if answer[start] == address[0], answer[start..<start + address.count].elementsEqual(address) {
        start += address.count
        answer[start - 2] = UInt8(replacement >> 8)
        answer[start - 1] = UInt8(truncatingIfNeeded: replacement)
      } else {
        start += 1
      }
    }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    bytes.reduce(0) { $0 << 8 | UInt32($1) }
  }

  private static func copy(_ count: Int, from source: LocalSocket, to target: LocalSocket) -> Bool {
    var left = count
    var chunk = [UInt8](repeating: 0, count: min(count, chunkBytes))
    return chunk.withUnsafeMutableBytes { chunk in
      while left > 0 {
        let part = UnsafeMutableRawBufferPointer(rebasing: chunk[..<min(left, chunk.count)])
        guard source.read(into: part), target.write(UnsafeRawBufferPointer(part)) else { return false }
        left -= part.count
      }
      return true
    }
  }
}

/// A TCP socket on the loopback interface, closed when its last reference is released.
final class LocalSocket: Sendable {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Listens on a free port; nil if that is not possible.
  static func listen() -> (socket: LocalSocket, port: UInt16)? {
    guard let socket = make() else { return nil }
    let port = withAddress(port: 0) { address, size in
      bind(socket.descriptor, address, size.pointee) == 0 && Glibc.listen(socket.descriptor, SOMAXCONN) == 0
        && getsockname(socket.descriptor, address, size) == 0
    }
    return port.map { (socket, $0) }
  }

  /// Connects to a port; nil if nothing listens there.
  static func connect(port: UInt16) -> LocalSocket? {
    guard let socket = make() else { return nil }
    guard withAddress(port: port, { Glibc.connect(socket.descriptor, $0, $1.pointee) == 0 }) != nil else {
      return nil
    }
    socket.sendAtOnce()
    return socket
  }

  /// Waits for a connection; nil when the socket is shut down.
  func accept() -> LocalSocket? {
    while true {
      let connection = Glibc.accept(descriptor, nil, nil)
      if connection >= 0 {
        _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
        let socket = LocalSocket(connection)
        socket.sendAtOnce()
        return socket
      }
      switch errno {
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOBUFS, ENOMEM:
        // Out of descriptors: wait until some are closed.
        _ = poll(nil, 0, 100)
      default: return nil
      }
    }
  }

  /// Reads until the buffer is full; false at the end of the connection.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Bool {
    Self.all(buffer.count) { recv(descriptor, buffer.baseAddress! + $0, buffer.count - $0, 0) }
  }

  /// Writes all bytes; false if the peer is gone.
  func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    Self.all(bytes.count) { send(descriptor, bytes.baseAddress! + $0, bytes.count - $0, Int32(MSG_NOSIGNAL)) }
  }

  /// Calls until this many bytes are transferred; false if a call fails.
  private static func all(_ count: Int, _ pass: (_ done: Int) -> Int) -> Bool {
    var done = 0
    while done < count {
      let passed = pass(done)
      if passed < 0, errno == EINTR { continue }
      guard passed > 0 else { return false }
      done += passed
    }
    return true
  }

  /// Shuts down the socket, which ends all blocked calls.
  func shutDown() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  private static func make() -> LocalSocket? {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    return descriptor >= 0 ? LocalSocket(descriptor) : nil
  }

  /// Calls with the address of a port on the loopback interface, and returns its port afterwards; nil if the call has failed.
  private static func withAddress(
    port: UInt16,
    _ call: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Bool
  ) -> UInt16? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isDone = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { call($0, &size) }
    }
    return isDone ? UInt16(bigEndian: address.sin_port) : nil
  }

  private func sendAtOnce() {
    var yes: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
  }
}
