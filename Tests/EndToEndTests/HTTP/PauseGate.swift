/// Pauses that last until the test ends them.
struct PauseGate: Sendable {
  private let begun = AsyncStream<Duration>.makeStream()
  private let ended = AsyncStream<Void>.makeStream()

  /// Waits in a pause, as the one under test does.
  func pass(_ duration: Duration) async throws {
    begun.continuation.yield(duration)
    for await _ in ended.stream { return }
    throw CancellationError()
  }

  /// Waits for the next pause.
  ///
  /// - Returns: how long it is to be.
  func next() async -> Duration? { await begun.stream.first { _ in true } }

  /// Ends a pause.
  func open() { ended.continuation.yield() }
}
