/// The result of `feedstore rejects publish`.
public struct RejectedPublicationReport: Sendable, Equatable {
  /// Why records were refused, each with its position and the remedy. If there are any, nothing was sent.
  public internal(set) var refusals: [String] = []
  /// Records sent, including undelivered ones.
  public internal(set) var sent = 0
  /// Records that may not have arrived.
  public internal(set) var undelivered = 0

  public var isComplete: Bool { refusals.isEmpty && undelivered == 0 }

  /// Lines for standard error, without line feeds.
  public var lines: [String] {
    guard refusals.isEmpty else { return refusals + ["nothing was published"] }
    let records = sent == 1 ? "1 record" : "\(sent) records"
    guard undelivered > 0 else { return ["published \(records)"] }
    return [
      "\(undelivered) of \(records) may not have arrived; check that the brokers can be reached, and publish them again"
    ]
  }
}
