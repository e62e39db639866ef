import Glibc

/// How to undo one step of a record, so that a record with several events is applied as a whole
/// or not at all. Undone in reverse order.
enum Undo {
  case attached(UInt32, _ scope: UInt32)
  case detached(UInt32, _ scope: UInt32, rank: Int32, leftGhost: Bool)
  /// Content that was replaced and that only the journal remembers.
  case content(UInt32, isItem: Bool, block: UnsafeMutablePointer<UInt8>?, dataCount: UInt32, kindCount: UInt8)
  /// Content that was replaced and became the published content.
  case publishedContent(UInt32, isItem: Bool)
  case forced(UInt32, isItem: Bool, ElementChange.Forced)
  /// The order of a whole list.
  case order(_ scope: UInt32, [UInt32])

  /// Frees what the step remembers, once it need not be undone.
  func releaseMemory() {
    if case .content(_, _, let block, _, _) = self { free(block) }
  }
}
