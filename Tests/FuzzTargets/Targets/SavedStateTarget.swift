import Feed

extension FuzzTarget {
  /// A saved state without its last line, which is computed; and the input unchanged.
  ///
  /// - A state that loads, saved and loaded again, is the same.
  static let savedState = FuzzTarget(
    "saved-state",
    tokens: changesetTokens + [
      "{\"format\":\"feedstore.replicas\",\"version\":1,", "\"topic\":", "\"cluster\":", "\"feeds\":[",
      "{\"partition\":", "\"position\":", "\"asOf\":", "\"behind\":{", "{\"feed\":", "\"lost\":",
      "\"stale\":true",
      "\"deltaCount\":", "\"deltaBytes\":", "\"highestDelta\":", "\"reloadBytes\":", "\"reloadParts\":",
      "\"reload\":{", "{\"lines\":", "9007199254740992", "9007199254740993",
    ]
  ) { input throws(FuzzFailure) in
    _ = SavedStateContent.load(input.lines)
    guard let loaded = SavedStateContent.loadWithEnd(input.lines.filter { !$0.isEmpty }) else { return }
    let saved = loaded.saved
    guard let again = SavedStateContent.load(saved.lines.dropLast()) else {
      throw FuzzFailure("what was saved does not load: \(saved.text)")
    }
    try expect(again.saved == saved, "what was saved, \(saved.text), is saved as \(again.saved.text)")
    try expect(try loaded.contents == again.contents, "what was saved loads to other feeds: \(saved.text)")
  }
}
