/// Elements that are new and count as published at once, so that nothing is left to be settled when the state is confirmed. For a
/// state that is being built, of which nothing was published.
extension FeedState {
  /// Gives an element its first content.
  func setFirstContent(
    _ handle: ElementHandle,
    _ table: ElementTable,
    kind: ByteSpan,
    data: ByteSpan,
    fingerprint: UInt32
  ) {
    table[handle].content = Content(
      copying: data,
      fingerprint: fingerprint,
      kind: kinds.use(kind),
      blocks: blocks
    )
  }

  /// Adds elements at the end of a list. The totals are the caller's.
  ///
  /// - Parameter checksum: the sum of their terms.
  func appendSettled(_ handles: [ElementHandle], _ scope: Scope, checksum: UInt32) {
    let table = table(scope)
    let list = list(scope)
    for handle in handles { table[handle].container = PackedOptional(scope) }
    handles.map(OrderEntry.both).withUnsafeBufferPointer { list.pointee.tree.append($0, table) }
    list.pointee.checksum &+= checksum
    list.pointee.publishedChecksum = list.pointee.checksum
  }
}
