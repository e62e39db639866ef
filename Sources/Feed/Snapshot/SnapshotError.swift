/// Why a snapshot cannot be read or edited as asked: the misuse for which UIKit raises.
///
/// The snapshot is then as it was before.
public struct SnapshotError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of misuse.
  public enum Code: String, Sendable, CaseIterable {
    /// An identifier is in the snapshot already, or stands twice in the argument.
    case duplicateIdentifier = "duplicate-identifier"
    /// There is no such section.
    case unknownSection = "unknown-section"
    /// There is no such item.
    case unknownItem = "unknown-item"
    /// No section was named, and the snapshot has none that could be the last.
    case noSection = "no-section"
    /// An element cannot be moved before or after itself.
    case selfMove = "self-move"
    /// An identifier has 1 to 255 UTF-8 bytes.
    case invalidIdentifier = "invalid-identifier"
    /// A kind has at most 255 UTF-8 bytes.
    case invalidKind = "invalid-kind"
    /// Data is one JSON value.
    case invalidData = "invalid-data"
    /// A difference does not start from this snapshot.
    case mismatch
  }

  /// What went wrong; stable.
  public let code: Code
  /// Names the identifier or value, and what to do.
  public let message: String

  /// Code and message.
  public var description: String { "\(code.rawValue): \(message)" }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  static func invalidIdentifier(_ text: ByteText) -> SnapshotError {
    SnapshotError(
      .invalidIdentifier,
      "the identifier \(text.quotedForMessage) has \(text.count) bytes; it must have 1 to 255 bytes of UTF-8"
    )
  }

  static func invalidKind(_ text: ByteText) -> SnapshotError {
    SnapshotError(
      .invalidKind,
      "the kind \(text.quotedForMessage) has \(text.count) bytes; it may have at most 255 bytes of UTF-8"
    )
  }

  static func invalidData(_ text: ByteText, _ fault: JSONFault) -> SnapshotError {
    SnapshotError(.invalidData, "\(text.quotedForMessage) is not one JSON value: \(fault.explanation)")
  }

  static func unknownSection(_ id: SectionIdentifier) -> SnapshotError {
    SnapshotError(
      .unknownSection,
      "there is no section \(id.text.quotedForMessage); append or insert it first"
    )
  }

  static func unknownItem(_ id: ItemIdentifier) -> SnapshotError {
    SnapshotError(.unknownItem, "there is no item \(id.text.quotedForMessage); append or insert it first")
  }

  static func duplicate(_ noun: String, _ text: ByteText, isInArgument: Bool) -> SnapshotError {
    SnapshotError(
      .duplicateIdentifier,
      "the \(noun) \(text.quotedForMessage) "
        + (isInArgument
          ? "stands twice in the argument; name it once" : "is in the snapshot already; move it instead")
    )
  }

  static func selfMove(_ noun: String, _ text: ByteText) -> SnapshotError {
    SnapshotError(
      .selfMove,
      "the \(noun) \(text.quotedForMessage) cannot be moved next to itself; name another"
    )
  }

  static let noSection = SnapshotError(
    .noSection,
    "the snapshot has no section that items could be appended to; append one first"
  )
}
