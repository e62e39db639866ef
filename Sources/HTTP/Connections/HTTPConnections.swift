import Glibc
import OperatingSystem
import Synchronization

/// The connections of a server, updated by its threads.
///
/// A socket identifies a connection from `accept` until just before `close`, so that no call can reach a socket number
/// that has been reused.
final class HTTPConnections: Sendable {
  private let table: Mutex<HTTPConnectionTable>

  init(_ limits: HTTPServerConfiguration) {
    table = Mutex(HTTPConnectionTable(limits))
  }

  var count: Int { table.withLock(\.count) }

  /// Applies a change to the table.
  func change<Result: Sendable>(
    _ body: @Sendable (inout HTTPConnectionTable, _ now: Int64) -> Result
  ) -> Result {
    table.withLock { body(&$0, MonotonicClock.milliseconds()) }
  }

  /// Records that a request, or the head of one with content, is complete.
  func beginAnswer(_ socket: Int32) {
    change { table, now in
      table.beginAnswer(socket, receivedBytes: SocketBytes.received(socket), at: now)
    }
  }

  /// Shuts down a connection that libmicrohttpd serves; libmicrohttpd closes the socket. A connection that it does not
  /// serve yet stays open.
  func shutDown(_ socket: Int32) {
    change { table, now in
      guard table.connections[socket]?.isServed == true else { return }
      table.leave(socket, at: now)
      // Under the lock, which libmicrohttpd's thread must take before it closes the socket.
      _ = shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  /// Updates all idle connections, and finds those past their deadline.
  ///
  /// - Returns: their sockets, and whether libmicrohttpd serves them.
  func lookForExpired() -> [(socket: Int32, connection: HTTPConnectionTable.Connection)] {
    change { table, now in
      for (socket, connection) in table.connections where connection.isServed {
        guard connection.phase == .idle else { continue }
        table.observe(socket, receivedBytes: SocketBytes.received(socket), at: now)
      }
      return table.expired(at: now).compactMap { socket in
        table.connections[socket].map { (socket, $0) }
      }
    }
  }
}

/// One request and its response, from the request's head until libmicrohttpd has finished with it.
///
/// Used only on its connection's thread.
final class HTTPExchange {
  let head: HTTPRequestHead
  let admission: Result<HTTPAdmission, any Error>
  /// The received part of the request's content.
  private var content: [UInt8] = []
  /// The response, if it follows later.
  var later: HTTPLaterResponse?

  init(head: HTTPRequestHead, admission: Result<HTTPAdmission, any Error>) {
    self.head = head
    self.admission = admission
  }

  /// The client's rights.
  var rights: AccessRights { (try? admission.get().request.rights) ?? .all }

  /// Adds a part of the content. Its length was checked, and libmicrohttpd enforces it.
  func append(_ bytes: UnsafeRawBufferPointer) { content.append(contentsOf: bytes) }

  /// The response. Calls the handler unless the request was refused.
  func response() -> HTTPResponse {
    if let given = later?.response { return given }
    do {
      var admission = try admission.get()
      admission.request.content = content
      return try admission.handler(admission.request)
    } catch let refusal as any HTTPRefusing {
      // With a token the client may be allowed.
      return rights.isAnonymous && refusal.response.status == 403
        ? TokenFault.missing.response : refusal.response
    } catch {
      return .problem(status: 500, code: "internal", detail: "\(error)")
    }
  }
}
