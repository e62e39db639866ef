internal import CGnutls
import Glibc

/// GET requests to other instances, each over a connection of its own. They block the thread.
package enum PeerRequest {
  package struct Response: Sendable {
    package let status: Int
    /// All lines before the body.
    package let head: String
    package let body: [UInt8]
  }

  private static let mostBytes = 1 << 20

  /// The system's certificate authorities. GnuTLS only reads them.
  private nonisolated(unsafe) static let authorities: gnutls_certificate_credentials_t? = {
    var authorities: gnutls_certificate_credentials_t?
    gnutls_certificate_allocate_credentials(&authorities)
    gnutls_certificate_set_x509_system_trust(authorities)
    return authorities
  }()

  /// - Parameter url: begins with `http://` or `https://`, and a host that may have a port.
  /// - Returns: nil if there is no complete response in time.
  package static func get(_ url: String, _ headers: [HTTPField], within milliseconds: Int64) -> Response? {
    let deadline = MonotonicClock.milliseconds() + milliseconds
    let parts = url.wholeMatch(of: /(https?):\/\/(\[[^\]]*\]|[^:\/]*)(?::([0-9]+))?(.*)/)?.output
    guard let (_, scheme, host, port, path) = parts else { return nil }
    let name = host.filter { $0 != "[" && $0 != "]" }
    guard let socket = connect(name, String(port ?? (scheme == "https" ? "443" : "80")), until: deadline)
    else { return nil }
    defer { close(socket) }
    // HTTP/1.0 has no chunks, and the response ends with the connection.
    let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    let request = "GET \(path) HTTP/1.0\r\nHost: \(host)\(port.map { ":" + $0 } ?? "")\r\n\(fields)\r\n"
    guard scheme == "https" else {
      return exchange(request, until: deadline, on: socket) {
        Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      } receive: {
        recv(socket, $0.baseAddress, $0.count, 0)
      }
    }
    var session: gnutls_session_t?
    gnutls_init(&session, UInt32(GNUTLS_CLIENT | GNUTLS_NO_SIGNAL))
    defer { gnutls_deinit(session) }
    gnutls_set_default_priority(session)
    gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(authorities))
    gnutls_server_name_set(session, GNUTLS_NAME_DNS, name, name.utf8.count)
    gnutls_transport_set_int2(session, socket, socket)
    return name.withCString { name in
      gnutls_session_set_verify_cert(session, name, 0)
      guard gnutls_handshake(session) == 0 else { return nil }
      return exchange(request, until: deadline, on: socket) {
        gnutls_record_send(session, $0.baseAddress, $0.count)
      } receive: {
        gnutls_record_recv(session, $0.baseAddress, $0.count)
      }
    }
  }

  private static func connect(_ host: String, _ port: String, until deadline: Int64) -> Int32? {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, port, &hints, &found) == 0, let found else { return nil }
    defer { freeaddrinfo(found) }
    for address in sequence(first: found, next: { $0.pointee.ai_next }).map(\.pointee) {
      let socket = Glibc.socket(address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
      if limit(socket, until: deadline), Glibc.connect(socket, address.ai_addr, address.ai_addrlen) == 0 {
        return socket
      }
      close(socket)
    }
    return nil
  }

  /// Bounds what follows on a socket.
  ///
  /// - Returns: false if no time is left.
  private static func limit(_ socket: Int32, until deadline: Int64) -> Bool {
    let left = Int(deadline - MonotonicClock.milliseconds())
    var time = timeval(tv_sec: left / 1_000, tv_usec: left % 1_000 * 1_000)
    return left > 0
      && [SO_SNDTIMEO, SO_RCVTIMEO].allSatisfy {
        setsockopt(socket, SOL_SOCKET, $0, &time, socklen_t(MemoryLayout<timeval>.size)) == 0
      }
  }

  private static func exchange(
    _ request: String,
    until deadline: Int64,
    on socket: Int32,
    send: (UnsafeRawBufferPointer) -> Int,
    receive: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Response? {
    // It is small, so that it is sent as a whole.
    guard Array(request.utf8).withUnsafeBytes(send) == request.utf8.count else { return nil }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    var count = 1
    while count > 0 {
      guard limit(socket, until: deadline), received.count < mostBytes else { return nil }
      count = buffer.withUnsafeMutableBytes(receive)
      received += buffer[..<max(0, count)]
    }
    guard count == 0, let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
    guard let status = Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)) else { return nil }
    return Response(status: status, head: head, body: Array(received[end.upperBound...]))
  }
}
