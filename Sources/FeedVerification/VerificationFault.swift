/// What is wrong with a feed's records: the first thing, and where.
public struct VerificationFault: Error, Sendable, Equatable {
  /// The feed's id; nil for a record that names none.
  public let feed: String?
  public let place: VerificationPlace
  /// What was found and what was expected.
  public let message: String

  init(feed: String?, place: VerificationPlace, _ message: String) {
    self.feed = feed
    self.place = place
    self.message = message
  }
}
