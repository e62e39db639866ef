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
    for step in steps { if let content = step.ownedContent { release(content) } }
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
    case .content(let handle, let isItem, let content):
      release(replaceContent(handle, isItem ? items : sections, with: content))
    case .publishedContent(let handle, let isItem):
      let table = isItem ? items : sections
      guard let content = table.withChange(handle, { $0.publishedContent.take() }) else {
        preconditionFailure("the published content is not remembered")
      }
      release(replaceContent(handle, table, with: content))
    case .forced(let handle, let isItem, let forced):
      (isItem ? items : sections).withChange(handle) { $0.forced = forced }
    case .order(let scope, let handles): setOrder(scope, handles, isUndo: true)
    }
  }
}
