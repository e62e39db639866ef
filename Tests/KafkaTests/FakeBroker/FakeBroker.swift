import Dispatch
import Glibc

/// A broker on a port of localhost that answers requests about consumer groups, which `EmbeddedCluster` does not
/// support.
///
/// Call `stop` once at the end, for example in a `defer`.
final class FakeBroker: Sendable {
  struct Failure: Error { let message: String }

  let port: UInt16
  private let listener: Int32
  private let answers: FakeAnswers
  private let isStopped = DispatchSemaphore(value: 0)

  init(_ answers: FakeAnswers) throws {
    self.answers = answers
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        bind(listener, $0.baseAddress!, size) == 0 && listen(listener, 16) == 0
          && getsockname(listener, $0.baseAddress!, &size) == 0
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    guard isListening else { throw Failure(message: "no broker: \(String(cString: strerror(errno)))") }
    DispatchQueue(label: "fake broker").async { [self] in
      serve()
      isStopped.signal()
    }
  }

  var bootstrapServers: String { "127.0.0.1:\(port)" }

  /// Closes the connections and waits for the thread, which polls the listening socket, too, and ends.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    isStopped.wait()
    close(listener)
  }

  /// Serves until the listener is shut down.
  private func serve() {
    var descriptors = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
    defer { for descriptor in descriptors.dropFirst() { close(descriptor.fd) } }
    while poll(&descriptors, nfds_t(descriptors.count), -1) >= 0 || errno == EINTR {
      for index in descriptors.indices.dropFirst().reversed() where descriptors[index].revents != 0 {
        if serveRequest(descriptors[index].fd) { continue }
        close(descriptors.remove(at: index).fd)
      }
      guard descriptors[0].revents != 0 else { continue }
      let connection = accept(listener, nil, nil)
      guard connection >= 0 else { return }
      descriptors.append(pollfd(fd: connection, events: Int16(POLLIN), revents: 0))
    }
  }

  /// - Returns: whether the connection stays open.
  private func serveRequest(_ connection: Int32) -> Bool {
    guard let size = receive(connection, 4),
      let request = receive(connection, size.reduce(0) { $0 << 8 | Int($1) })
    else { return false }
    guard let answer = answers.answer(to: request, port: port) else { return true }
    return send(connection, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count
  }

  private func receive(_ connection: Int32, _ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    return recv(connection, &bytes, count, Int32(MSG_WAITALL)) == count ? bytes : nil
  }
}

/// Reads a request in Kafka's protocol. It trusts librdkafka to send complete ones.
struct FakeRequestReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  mutating func integer<Integer: FixedWidthInteger>() -> Integer {
    let bytes = rest.prefix(Integer.bitWidth / 8)
    rest = rest.dropFirst(bytes.count)
    return bytes.reduce(0) { $0 << 8 | Integer($1) }
  }

  mutating func text() -> String {
    let length = Int(integer() as Int16)
    defer { rest = rest.dropFirst(length) }
    return String(decoding: rest.prefix(length), as: UTF8.self)
  }
}

/// Writes values in Kafka's protocol: big-endian integers, and lengths before their content.
struct FakeAnswerWriter {
  private(set) var bytes: [UInt8] = []

  mutating func append(_ number: some FixedWidthInteger) {
    withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
  }

  mutating func append(_ text: String) {
    append(Int16(text.utf8.count))
    bytes += Array(text.utf8)
  }

  mutating func append(bytes content: [UInt8]) {
    append(Int32(content.count))
    bytes += content
  }

  mutating func append<Element>(_ elements: [Element], _ write: (inout Self, Element) -> Void) {
    append(Int32(elements.count))
    for element in elements { write(&self, element) }
  }
}

/// A consumer group of a `FakeBroker`.
struct FakeGroup: Sendable {
  struct Member: Sendable {
    var clientID: String
    var host: String
    /// The bytes of its member's assignment.
    var assignment: [UInt8] = []
  }

  var name: String
  /// The error code; 0 for none.
  var error: Int16 = 0
  var members: [Member] = []

  /// Writes the group in the format of DescribeGroups.
  func write(to answer: inout FakeAnswerWriter) {
    answer.append(error)
    answer.append(name)
    for text in ["Stable", "consumer", "range"] { answer.append(text) }
    answer.append(Array(members.enumerated())) { answer, member in
      answer.append("member-\(member.offset)")
      answer.append(member.element.clientID)
      answer.append(member.element.host)
      answer.append(bytes: [])
      answer.append(bytes: member.element.assignment)
    }
  }
}
