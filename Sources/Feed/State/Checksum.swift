internal import CXxhash

/// The terms of a feed's checksum (protocol, section 4.3): XXH32 with seed 0 over each element and
/// its predecessor. The checksum is their sum, so that a change touches only its neighbours' terms.
///
/// Identifiers and kinds have at most 255 bytes.
enum Checksum {
  static func section(_ id: ByteSpan, after previous: ByteSpan) -> UInt32 {
    precondition(id.count < 256 && previous.count < 256)
    return feedstore_xxh32_section(previous.base, previous.count, id.base, id.count)
  }

  static func item(_ id: ByteSpan, kind: ByteSpan, after previous: ByteSpan, in section: ByteSpan) -> UInt32 {
    precondition(id.count < 256 && kind.count < 256 && previous.count < 256 && section.count < 256)
    return feedstore_xxh32_item(
      section.base,
      section.count,
      previous.base,
      previous.count,
      id.base,
      id.count,
      kind.base,
      kind.count
    )
  }
}
