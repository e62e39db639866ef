/// How to undo one step of a record, so that a record with several events is applied as a whole
/// or not at all. Undone in reverse order.
enum Undo {
  case attached(ElementHandle, Scope)
  case detached(ElementHandle, Scope, rank: Rank, leftGhost: Bool)
  /// Content that was replaced and that only the journal remembers.
  case content(ElementHandle, isItem: Bool, Content)
  /// Content that was replaced and became the published content.
  case publishedContent(ElementHandle, isItem: Bool)
  case forced(ElementHandle, isItem: Bool, ElementChange.Forced)
  /// The order of a whole list.
  case order(Scope, [ElementHandle])

  /// The content that the step owns; nil if it owns none.
  var ownedContent: Content? {
    if case .content(_, _, let content) = self { content } else { nil }
  }
}
