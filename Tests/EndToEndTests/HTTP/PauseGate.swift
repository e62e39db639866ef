/// Pauses whose end the test controls.
struct PauseGate: Sendable {
  private let begun = AsyncStream<Duration>.makeStream()
  private let ended = AsyncStream<Void>.makeStream()

  /// Waits in a pause; called by the code under test.
  func pass(_ duration: Duration) async throws {
    begun.continuation.yield(duration)
    for await _ in ended.stream { return }
    throw CancellationError()
  }

  /// Waits for the next pause.
  ///
  /// - Returns: its duration.
  func next() async -> Duration? { await begun.stream.first { _ in true } }

  /// Ends the current pause.
  func open() { ended.continuation.yield() }
}
