/// How to undo one step of a record, so that a record with several events is applied as a whole
/// or not at all. Undone in reverse order.
enum Undo {
  case attached(UInt32, _ scope: UInt32)
  case detached(UInt32, _ scope: UInt32, rank: Int32, leftGhost: Bool)
  /// Content that was replaced and that only the journal remembers.
  case content(UInt32, isItem: Bool, Content)
  /// Content that was replaced and became the published content.
  case publishedContent(UInt32, isItem: Bool)
  case forced(UInt32, isItem: Bool, ElementChange.Forced)
  /// The order of a whole list.
  case order(_ scope: UInt32, [UInt32])

  /// The content that the step owns; nil if it owns none.
  var content: Content? {
    if case .content(_, _, let content) = self { content } else { nil }
  }
}
