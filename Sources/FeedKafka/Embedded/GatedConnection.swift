import Synchronization

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

  /// Closes the connection on both sides.
  func end() {
    client.shutDown()
    broker.shutDown()
  }

  /// Forwards requests until the connection ends.
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

  /// Forwards responses until the connection ends.
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

  /// Reads a number in network byte order.
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
