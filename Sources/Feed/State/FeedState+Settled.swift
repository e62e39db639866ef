/// Elements that are new and count as published at once, so that nothing is left to be settled when the state is confirmed. For a
/// state that is being built, of which nothing was published.
extension FeedState {
  /// Gives an element its first content.
  ///
  /// - Parameter fingerprint: that of the data; nil if it is not known yet.
  func setFirstContent(
    _ handle: ElementHandle,
    _ table: ElementTable,
    _ fields: ElementFields,
    fingerprint: UInt32? = nil
  ) {
    let data = fields.data ?? FeedState.null
    table[handle].content = Content(
      copying: data,
      fingerprint: fingerprint ?? DataFingerprint.of(data),
      kind: kinds.use(fields.kind ?? .empty),
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
