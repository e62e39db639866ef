/// How much producers may send to the embedded broker before everything is read that they have sent.
struct ProduceCredit: Equatable {
  /// Bytes of requests. The broker keeps 5 MiB of a partition; half of that is left for records that are read a second
  /// time, and for requests without acknowledgement, of which it is not known when they have arrived.
  static let bytes = 1 << 20

  /// The largest request. librdkafka 2.0.2's mock cluster loses what it has just appended when that takes the place of
  /// everything before it; two of half of what it keeps never do.
  static let greatestRequestBytes = 5 << 19

  private var used = 0

  /// Whether a request of so many bytes may go on; one that is larger than the credit may, after all others are read.
  ///
  /// - Returns: false if the input has to be read first.
  mutating func take(_ bytes: Int) -> Bool {
    guard used == 0 || bytes <= Self.bytes - used else { return false }
    used += bytes
    return true
  }

  /// Everything that was sent is read.
  mutating func renew() { used = 0 }
}
