import Glibc
import Synchronization

/// The connections of a server, told of by its threads.
///
/// A socket is a connection's name from `accept` until just before `close`, so that nothing is ever done to a socket
/// that another connection has by then.
final class HTTPConnections: Sendable {
  private let table: Mutex<HTTPConnectionTable>

  init(_ limits: HTTPConnectionTable.Limits) {
    table = Mutex(HTTPConnectionTable(limits))
  }

  var count: Int { table.withLock(\.count) }

  /// Calls for one change of the table.
  func change<Result: Sendable>(
    _ body: @Sendable (inout HTTPConnectionTable, _ now: Int64) -> Result
  ) -> Result {
    table.withLock { body(&$0, MonotonicClock.milliseconds()) }
  }

  /// Notes that a head is whole.
  func beginAnswer(_ socket: Int32) {
    change { table, now in
      table.beginAnswer(socket, receivedBytes: SocketBytes.received(socket), at: now)
    }
  }

  /// Notes that an answer was sent, and what has been received by then.
  func endAnswer(_ socket: Int32) {
    change { table, now in
      table.endAnswer(socket, receivedBytes: SocketBytes.received(socket), at: now)
    }
  }

  /// Ends a connection that libmicrohttpd has; it closes the socket. Nothing is done to one that it has not begun
  /// with.
  func shutDown(_ socket: Int32) {
    change { table, now in
      guard table.connections[socket]?.isServed == true else { return }
      table.leave(socket, at: now)
      // Under the lock: libmicrohttpd's thread has to take it before it closes the socket.
      _ = shutdown(socket, Int32(SHUT_RDWR))
    }
  }

  /// Looks at all idle connections, and finds those that took too long.
  ///
  /// - Returns: Their sockets, and whether libmicrohttpd has them.
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
