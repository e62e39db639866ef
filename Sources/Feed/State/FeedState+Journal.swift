import Glibc

extension FeedState {
  /// Notes from here on how to undo each step.
  func beginJournal() {
    journal = []
    journalNumber &+= 1
  }

  /// What was noted is not needed any more.
  func endJournal() {
    guard let steps = journal else { return }
    journal = nil
    for step in steps { step.releaseMemory() }
  }

  /// Undoes everything since `beginJournal`.
  func undoJournal() {
    guard let steps = journal else { return }
    journal = nil
    for step in steps.reversed() { undo(step) }
  }

  private func undo(_ step: Undo) {
    switch step {
    case .attached(let handle, let scope): detach(handle, scope)
    case .detached(let handle, let scope, let rank, let leftGhost):
      if !leftGhost || !reviveGhost(handle, scope, at: rank) { attach(handle, scope, at: rank) }
    case .content(let handle, let isItem, let block, let dataCount, let kindCount):
      restoreContent(handle, isItem: isItem, block: block, dataCount: dataCount, kindCount: kindCount)
    case .publishedContent(let handle, let isItem):
      let table = isItem ? items : sections
      let change = table.withChange(handle) { change in
        defer {
          change.publishedContent = nil
          change.hasPublishedContent = false
        }
        return change
      }
      restoreContent(
        handle,
        isItem: isItem,
        block: change.publishedContent,
        dataCount: change.publishedDataCount,
        kindCount: change.publishedKindCount
      )
    case .forced(let handle, let isItem, let forced):
      (isItem ? items : sections).withChange(handle) { $0.forced = forced }
    case .order(let scope, let handles): setOrder(scope, handles, isUndo: true)
    }
  }

  private func restoreContent(
    _ handle: UInt32,
    isItem: Bool,
    block: UnsafeMutablePointer<UInt8>?,
    dataCount: UInt32,
    kindCount: UInt8
  ) {
    let table = isItem ? items : sections
    replaceBlock(handle, isItem: isItem, block, dataCount: dataCount, kindCount: kindCount) { old in
      free(old.content)
    }
    precondition(table[handle].content == block)
  }
}
