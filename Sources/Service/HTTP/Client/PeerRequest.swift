internal import CGnutls
import Glibc

/// GET requests to other instances, each over a connection of its own. They block the thread.
package enum PeerRequest {
  /// The head is all lines before the body.
  package typealias Response = (status: Int, head: String, body: [UInt8])

  private static let mostBytes = 1 << 20

  /// The system's certificate authorities. GnuTLS only reads them.
  private nonisolated(unsafe) static let authorities: gnutls_certificate_credentials_t? = {
    var authorities: gnutls_certificate_credentials_t?
    gnutls_certificate_allocate_credentials(&authorities)
    gnutls_certificate_set_x509_system_trust(authorities)
    return authorities
  }()

  /// - Parameter url: begins with `http://` or `https://`, and a host that may have a port.
  /// - Returns: nil if a complete response does not arrive in about this time.
  package static func get(_ url: String, _ headers: [HTTPField], within milliseconds: Int64) -> Response? {
    let deadline = MonotonicClock.milliseconds() + milliseconds
    let parts = url.wholeMatch(of: /(https?):\/\/(\[[^\]]*\]|[^:\/]*)(?::([0-9]+))?(.*)/)?.output
    guard let (_, scheme, host, port, path) = parts else { return nil }
    let name = strdup(host.filter { $0 != "[" && $0 != "]" })
    defer { free(name) }
    let socket = connect(name, port.map { String($0) } ?? (scheme == "https" ? "443" : "80"), milliseconds)
    guard let socket else { return nil }
    defer { close(socket) }
    var session: gnutls_session_t?
    defer { if session != nil { gnutls_deinit(session) } }
    if scheme == "https" {
      gnutls_init(&session, UInt32(GNUTLS_CLIENT | GNUTLS_NO_SIGNAL))
      gnutls_set_default_priority(session)
      gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, UnsafeMutableRawPointer(authorities))
      gnutls_server_name_set(session, GNUTLS_NAME_DNS, name, name.map { strlen($0) } ?? 0)
      gnutls_session_set_verify_cert(session, name, 0)
      gnutls_transport_set_int2(session, socket, socket)
      guard gnutls_handshake(session) == 0 else { return nil }
    }
    // HTTP/1.0 has no chunks, and the response ends with the connection.
    let fields = headers.map { "\($0.name): \($0.value)\r\n" }.joined()
    let authority = host + (port.map { ":" + $0 } ?? "")
    let request = Array("GET \(path) HTTP/1.0\r\nHost: \(authority)\r\n\(fields)\r\n".utf8)
    var count =
      session == nil
      ? send(socket, request, request.count, Int32(MSG_NOSIGNAL))
      : gnutls_record_send(session, request, request.count)
    // It is small, so that it is sent as a whole.
    guard count == request.count else { return nil }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while count > 0, received.count < mostBytes, MonotonicClock.milliseconds() < deadline {
      count =
        session == nil
        ? recv(socket, &buffer, buffer.count, 0) : gnutls_record_recv(session, &buffer, buffer.count)
      received += buffer[..<max(0, count)]
    }
    guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
    let length = head.firstMatch(of: /\r\ncontent-length: *([0-9]+)/.ignoresCase()).flatMap { Int($0.1) }
    let body = Array(received[end.upperBound...])
    guard length == body.count else { return nil }
    return Int(head.dropFirst("HTTP/1.1 ".count).prefix(3)).map { ($0, head, body) }
  }

  /// - Parameter milliseconds: what each further step on the socket may take.
  private static func connect(
    _ host: UnsafePointer<CChar>?,
    _ port: String,
    _ milliseconds: Int64
  ) -> Int32? {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var found: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, port, &hints, &found) == 0, let found else { return nil }
    defer { freeaddrinfo(found) }
    var time = timeval(tv_sec: Int(milliseconds) / 1_000, tv_usec: Int(milliseconds) % 1_000 * 1_000)
    for address in sequence(first: found, next: { $0.pointee.ai_next }).map(\.pointee) {
      let socket = Glibc.socket(address.ai_family, address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
      for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
        setsockopt(socket, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
      }
      if Glibc.connect(socket, address.ai_addr, address.ai_addrlen) == 0 { return socket }
      close(socket)
    }
    return nil
  }
}
