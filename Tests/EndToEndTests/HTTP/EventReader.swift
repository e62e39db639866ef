import HTTPTestSupport
import Service

/// Reads a stream of events message by message, on a thread of its own: what is read comes from tasks that need
/// the pool's.
final class EventReader: @unchecked Sendable {
  // Unchecked: the client is touched on the thread only, one call after the other.
  private let client: HTTPTestClient
  private let thread = WorkerThread(name: "event reader")
  private var text = ""

  /// One message.
  struct Message: Equatable {
    var id: String?
    var name: String?
    var data = ""
  }

  /// - Parameter client: one that has sent its request.
  init(_ client: HTTPTestClient) { self.client = client }

  deinit { thread.stop() }

  /// The status of the answer; to be asked for first.
  func status() async throws -> Int {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.client.head().status }
  }

  /// The next message; nil at the stream's end. Comments and `retry` are passed over.
  func next() async throws -> Message? {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.read() }
  }

  /// The next message with a name, or without one; nil at the stream's end. Others are passed over.
  func next(named name: String?) async throws -> Message? {
    while let message = try await next() {
      if message.name == name { return message }
    }
    return nil
  }

  /// The next changeset as it was sent; nil at the stream's end.
  func nextChangeset() async throws -> String? { try await next(named: nil)?.data }

  /// Closes the connection.
  func end() async {
    await withTaskExecutorPreference(thread) { @concurrent in self.client.end() }
  }

  private func read() throws -> Message? {
    while true {
      while let end = text.firstRange(of: "\n\n") {
        let block = text[..<end.lowerBound]
        let message = Self.message(block)
        text.removeSubrange(..<end.upperBound)
        if let message { return message }
      }
      let chunk = try client.chunk()
      if chunk.isEmpty { return nil }
      text += chunk
    }
  }

  private static func message(_ block: Substring) -> Message? {
    var message = Message()
    var lines: [Substring] = []
    for line in block.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else { continue }
      let value = parts[1].dropFirst()
      switch parts[0] {
      case "id": message.id = String(value)
      case "event": message.name = String(value)
      case "data": lines.append(value)
      default: continue
      }
    }
    guard !lines.isEmpty else { return nil }
    message.data = lines.joined(separator: "\n")
    return message
  }
}
