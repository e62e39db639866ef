import Oracle

@testable import Feed

extension Replica {
  /// The replica's content, to compare with the oracle.
  var oracleFeed: OracleFeed {
    OracleFeed(
      sections: state.currentHandles(.sections).map { section in
        OracleSection(
          id: Array(state.sections.id(section).buffer),
          data: Array(state.sections[section].data.buffer),
          items: state.currentHandles(.items(of: section)).map { item in
            OracleItem(
              id: Array(state.items.id(item).buffer),
              kind: Array(state.kind(item).buffer),
              data: Array(state.items[item].data.buffer)
            )
          }
        )
      }
    )
  }
}

extension ReplicaPartition {
  /// Applies a record of the judge.
  func apply(_ record: JudgedRecord) throws(ReplicaFault) -> ReplicaOutcome {
    let key = UnsafeMutableRawBufferPointer.allocate(byteCount: record.key.count, alignment: 1)
    let value = UnsafeMutableRawBufferPointer.allocate(byteCount: record.value?.count ?? 0, alignment: 1)
    defer {
      key.deallocate()
      value.deallocate()
    }
    key.copyBytes(from: record.key)
    value.copyBytes(from: record.value ?? [])
    return try apply(
      key: ByteSpan(UnsafeRawBufferPointer(key)),
      value: record.value == nil ? nil : ByteSpan(UnsafeRawBufferPointer(value))
    )
  }
}
