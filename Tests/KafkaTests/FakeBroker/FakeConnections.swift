import Glibc

/// The connections of a `FakeBroker`, served on its thread.
final class FakeConnections: Sendable {
  private let listener: Int32
  private let port: UInt16
  private let answers: FakeAnswers

  init(_ listener: Int32, _ port: UInt16, _ answers: FakeAnswers) {
    self.listener = listener
    self.port = port
    self.answers = answers
  }

  /// Serves until the listener is shut down.
  func serve() {
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
