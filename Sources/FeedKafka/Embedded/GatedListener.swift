import Service
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
    guard BackgroundThread.start(name: "broker-gate", { self.serve() }) else { return nil }
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
        BackgroundThread.start(name: "broker-gate-in") { self.passRequests(of: connection) }
        && BackgroundThread.start(name: "broker-gate-out") { connection.passAnswers() }
      if !isServed { forget(connection) }
    }
  }

  private func passRequests(of connection: GatedConnection) {
    connection.passRequests()
    forget(connection)
  }

  private func forget(_ connection: GatedConnection) {
    connection.end()
    state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
  }
}
