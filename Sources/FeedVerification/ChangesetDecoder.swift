import Feed

/// Decodes changeset records and checks their form; its memory serves one record after the other.
final class ChangesetDecoder {
  private let indexer = JSONIndexer()
  /// For the earlier parts of a changeset, while the last one is in the other; made when there are such.
  private lazy var partIndexer = JSONIndexer()
  private let arena = ScratchArena()
  private let spelled = ByteWriter(capacity: 64 << 10)

  /// What is decoded is valid until the next value is, as long as the value's bytes stay.
  ///
  /// - Parameter mayForget: whether `through` may lack records that were taken.
  func decode(_ value: ByteSpan, mayForget: Bool) throws(Violation) -> ChangesetForm {
    arena.reset()
    return try ChangesetForm(
      try ChangesetDecoder.index(value, indexer),
      arena: arena,
      spelled: spelled,
      mayForget: mayForget
    )
  }

  /// Adds the lists of an earlier part, whose form was checked; they point to its bytes.
  func append(_ part: ByteSpan, to entries: inout DecodedEntries) throws(Violation) {
    let text = try ChangesetDecoder.index(part, partIndexer)
    try Violation.from { () throws(ReplicaFault) in
      try entries.append(DecodedChangeset(text, arena: arena))
    }
  }

  private static func index(_ value: ByteSpan, _ indexer: JSONIndexer) throws(Violation) -> JSONText {
    do throws(JSONFault) {
      return try indexer.validatedWithPairedSurrogates(value)
    } catch {
      throw Violation("the value is not JSON: \(error.explanation)")
    }
  }
}
