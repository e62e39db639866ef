import FeedClient

/// One revision of a feed. Its text is `<epoch>@<revision>`: the entity tag of a feed's state, and the id of the
/// message that leads to it.
struct FeedVersion: Sendable, Equatable {
  let epoch: String
  let revision: UInt64

  init(epoch: String, revision: UInt64) {
    self.epoch = epoch
    self.revision = revision
  }

  init(_ description: FeedDescription) {
    self.init(epoch: description.epoch, revision: description.revision)
  }

  /// Nil if the text is not a version.
  init?(_ text: String) {
    guard let at = text.lastIndex(of: "@"), let revision = UInt64(text[text.index(after: at)...]) else {
      return nil
    }
    self.init(epoch: String(text[..<at]), revision: revision)
  }

  var text: String { "\(epoch)@\(revision)" }
}
