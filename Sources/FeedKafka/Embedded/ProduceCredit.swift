/// How much producers may send to the embedded broker before all of it must be read.
struct ProduceCredit: Equatable {
  /// In bytes of requests. The broker keeps 5 MiB of a partition. Half of that is reserved for records that are read
  /// again, and for requests without acknowledgement, whose arrival cannot be observed.
  static let bytes = 1 << 20

  /// The largest request. librdkafka 2.0.2's mock cluster loses a new batch if that batch displaces everything before
  /// it. Two batches of half the capacity never do.
  static let greatestRequestBytes = 5 << 19

  private var used = 0

  /// Whether a request of this size may pass. A request larger than the credit may pass once all others have been read.
  ///
  /// - Returns: false if the input has to be read first.
  mutating func take(_ bytes: Int) -> Bool {
    guard used == 0 || bytes <= Self.bytes - used else { return false }
    used += bytes
    return true
  }

  /// Restores the full credit, once everything sent has been read.
  mutating func renew() { used = 0 }
}
