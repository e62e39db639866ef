import HTTPTestSupport
import Service

/// Reads an event stream message by message on a separate thread, because blocking reads must not occupy the
/// cooperative pool.
final class EventReader: @unchecked Sendable {
  // Unchecked: the client is used on the thread only, one call after the other.
  private let client: HTTPTestClient
  private let thread = WorkerThread(name: "event reader")
  private var text = ""

  /// One message.
  struct Message: Equatable {
    var id: String?
    var name: String?
    var data = ""
  }

  /// - Parameter client: a client that has sent its request.
  init(_ client: HTTPTestClient) { self.client = client }

  deinit { thread.stop() }

  /// The status of the response; call it first.
  func status() async throws -> Int {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.client.head().status }
  }

  /// The next message; nil at the end of the stream. Comments and `retry` are skipped.
  func next() async throws -> Message? {
    try await withTaskExecutorPreference(thread) { @concurrent in try self.read() }
  }

  /// The next message with a name, or without one; nil at the end of the stream. Others are skipped.
  func next(named name: String?) async throws -> Message? {
    while let message = try await next() {
      if message.name == name { return message }
    }
    return nil
  }

  /// The next changeset as sent; nil at the end of the stream.
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
