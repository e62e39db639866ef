public import Feed
public import Oracle

extension ReplicaPartition {
  /// Applies a record of the changesets topic, from copies of exact size, so that an address sanitizer detects reads
  /// beyond the end.
  @discardableResult
  public func apply(_ key: [UInt8], _ value: [UInt8]?) throws(ReplicaFault) -> ReplicaOutcome {
    let keyCopy = UnsafeMutableRawBufferPointer.allocate(byteCount: key.count, alignment: 1)
    let valueCopy = UnsafeMutableRawBufferPointer.allocate(byteCount: value?.count ?? 0, alignment: 1)
    defer {
      keyCopy.deallocate()
      valueCopy.deallocate()
    }
    keyCopy.copyBytes(from: key)
    valueCopy.copyBytes(from: value ?? [])
    let bytes = ByteSpan(UnsafeRawBufferPointer(valueCopy))
    return try apply(key: ByteSpan(UnsafeRawBufferPointer(keyCopy)), value: value == nil ? nil : bytes)
  }

  @discardableResult
  public func apply(_ record: JudgedRecord) throws(ReplicaFault) -> ReplicaOutcome {
    try apply(record.key, record.value)
  }

  @discardableResult
  public func apply(_ record: ChangesetSource.Record) throws(ReplicaFault) -> ReplicaOutcome {
    try apply(record.key, record.value)
  }
}
