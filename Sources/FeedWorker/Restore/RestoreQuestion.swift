import Service

/// How long a question to the brokers may take while partitions are restored.
///
/// The call blocks the worker. Brokers do not tell the committed offsets while a transaction is open that has others, which
/// lasts for some seconds after its member was killed; so as long as other partitions are served, the timeout stays short.
/// It grows in the end: a broker that responds more slowly would otherwise never be heard.
enum RestoreQuestion {
  /// The longest time at first while partitions are served, in milliseconds.
  static let patientMilliseconds: Int32 = 300
  /// The number of failures before it becomes longer; with the pauses between them some 25 seconds.
  static let patientFailures = 60

  /// - Parameter failures: the number of consecutive questions without an answer.
  static func timeoutMilliseconds(afterFailures failures: Int, isServing: Bool) -> Int32 {
    let timeouts = ExponentialBackoff<Int32>(from: isServing ? 150 : 1_000, to: 8_000)
    guard isServing else { return timeouts[failures] }
    return failures < patientFailures
      ? min(timeouts[failures], patientMilliseconds) : timeouts[failures - patientFailures + 1]
  }
}
