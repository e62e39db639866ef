import Glibc

/// A broker on a port of localhost that answers requests about consumer groups, which `EmbeddedCluster` does not
/// support.
///
/// Call `stop` at the end, for example in a `defer`.
final class FakeBroker {
  struct Failure: Error { let message: String }

  let port: UInt16
  private let listener: Int32
  private var thread = pthread_t()
  private var isStopped = false

  init(_ answers: FakeAnswers) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
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
    let port = UInt16(bigEndian: address.sin_port)
    let connections = Unmanaged.passRetained(FakeConnections(listener, port, answers))
    let isServing =
      isListening
      && pthread_create(
        &thread,
        nil,
        {
          Unmanaged<FakeConnections>.fromOpaque($0!).takeRetainedValue().serve()
          return nil
        },
        connections.toOpaque()
      ) == 0
    guard isServing else {
      connections.release()
      close(listener)
      throw Failure(message: "no broker: \(String(cString: strerror(errno)))")
    }
    self.listener = listener
    self.port = port
  }

  deinit { stop() }

  var bootstrapServers: String { "127.0.0.1:\(port)" }

  /// Closes the connections and waits for the thread; a second call does nothing.
  func stop() {
    if isStopped { return }
    isStopped = true
    // The thread polls this socket, too, and ends.
    shutdown(listener, Int32(SHUT_RDWR))
    pthread_join(thread, nil)
    close(listener)
  }
}
