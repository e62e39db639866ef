/// What a worker does next: decided from the time and what is asked of it.
enum WorkerStep: Equatable {
  /// Wait for input, at most so long.
  case poll(timeoutMilliseconds: Int32)
  /// Poll without taking input, and go one step on towards a producer that can publish.
  case prepareProducer
  /// Take the input that is there, and go one step on in restoring partitions.
  case restore
  /// Publish the pending changes.
  case flush
  /// Publish the pending changes, and leave.
  case stop

  /// The longest wait, so that a request to stop is seen soon.
  static let idleMilliseconds: Int64 = 100

  /// - Parameters:
  ///   - deadline: when the pending changes are due; nil if there are none.
  ///   - now: the time in milliseconds, of the same clock.
  ///   - isStopping: whether the end was asked for.
  ///   - isProducerReady: whether a transaction can be begun.
  ///   - restoreTime: when the next step in restoring partitions may be taken; nil if there are none to be restored.
  init(deadline: Int64?, now: Int64, isStopping: Bool, isProducerReady: Bool, restoreTime: Int64?) {
    if isStopping {
      self = .stop
    } else if !isProducerReady {
      self = .prepareProducer
    } else if let deadline, deadline <= now {
      // What is served goes on while other partitions are restored.
      self = .flush
    } else if let restoreTime, restoreTime <= now {
      self = .restore
    } else {
      let time = min(deadline ?? .max, restoreTime ?? .max)
      self = .poll(timeoutMilliseconds: Int32(min(time - now, Self.idleMilliseconds)))
    }
  }
}
