@testable import Feed

/// A feed's state that tests of publications build by hand.
struct SampleState {
  let state = FeedState()

  /// Adds a section at the end.
  func addSection(_ id: String, data: String = "null") -> ElementHandle {
    let handle = withSpan(id) { state.makeSection($0, ByteHash.of($0)) }
    withSpan(data) { state.setContent(section: handle, ElementFields(data: $0)) }
    state.attach(handle, .sections, at: Rank(state.sectionCount))
    return handle
  }

  /// Adds an item at the end of a section.
  @discardableResult
  func addItem(
    _ id: String,
    to section: ElementHandle,
    kind: String = "",
    data: String = "null"
  ) -> ElementHandle {
    let handle = withSpan(id) { state.items.create($0, ByteHash.of($0)) }
    withSpan(kind) { kind in
      withSpan(data) { state.setContent(item: handle, ElementFields(kind: kind, data: $0)) }
    }
    let scope = Scope.items(of: section)
    state.attach(handle, scope, at: Rank(state.list(scope).pointee.tree.currentCount))
    return handle
  }

  /// A head whose length is known.
  static func head(_ mode: ChangesetMode, feed: ByteSpan = ByteSpan("f")) -> ChangesetHead {
    ChangesetHead(
      feed: feed,
      epoch: Array("t/0".utf8),
      revision: 2,
      base: 1,
      mode: mode,
      reason: mode == .reload ? .requested : nil,
      time: 0,
      through: [],
      checksum: 0
    )
  }

  static func text(_ head: ChangesetHead, part: (number: Int, count: Int)? = nil) -> String {
    written { head.write(part: part, to: $0) }
  }
}
