/// What a worker does next: decided from the time and what is asked of it.
enum WorkerStep: Equatable {
  /// Wait for input, at most so long.
  case poll(timeoutMilliseconds: Int32)
  /// Poll without taking input, and go one step on towards a producer that can publish.
  case prepareProducer
  /// Poll without taking input, and go one step on in restoring.
  case restore
  /// Publish what waits.
  case flush
  /// Publish what waits, and leave.
  case stop

  /// The longest wait, so that a request to stop is seen soon.
  static let idleMilliseconds: Int64 = 100

  /// - Parameters:
  ///   - deadline: when what waits is to be published; nil if nothing waits.
  ///   - now: the time in milliseconds, of the same clock.
  ///   - isStopping: whether the end was asked for.
  ///   - isProducerReady: whether a transaction can be begun.
  ///   - isRestoring: whether feeds have to be restored before input is taken.
  init(deadline: Int64?, now: Int64, isStopping: Bool, isProducerReady: Bool, isRestoring: Bool) {
    if isStopping {
      self = .stop
    } else if !isProducerReady {
      self = .prepareProducer
    } else if isRestoring {
      self = .restore
    } else if let deadline, deadline <= now {
      self = .flush
    } else {
      let left = deadline.map { $0 - now } ?? Self.idleMilliseconds
      self = .poll(timeoutMilliseconds: Int32(min(left, Self.idleMilliseconds)))
    }
  }
}
