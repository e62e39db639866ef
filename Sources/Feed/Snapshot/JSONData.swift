/// The data of an item or a section: one JSON value as it is spelled.
///
/// White space between tokens is removed; member order, duplicate members, number spelling and
/// escapes stay. Compared by bytes: `1.0` and `1` are different data. There is no bound on size or
/// depth here; a store that takes the data in applies its own `Limits`.
public struct JSONData: Sendable, Hashable, CustomStringConvertible {
  let text: ByteText

  /// The JSON value `null`, which is what an element without data has.
  public static let null = JSONData(checked: ByteSpan("null" as StaticString))

  /// Data from JSON text. O(n) for n bytes.
  ///
  /// - Throws: ``SnapshotError/Code/invalidData`` where the text is not one JSON value (RFC 8259), or has
  ///   an unpaired surrogate escape.
  public init(validating json: String) throws(SnapshotError) {
    let source = ByteText(json)
    switch source.withBytes(JSONData.compact) {
    case .success(let compact): text = compact ?? source
    case .failure(let fault): throw .invalidData(source, fault)
    }
  }

  /// A JSON string: the text, quoted.
  public init(string: String) {
    let output = ByteWriter(capacity: string.utf8.count + 16)
    ByteText(string).withBytes { output.append(quoted: $0) }
    text = ByteText(output.written)
  }

  /// Data that a state holds, and that was therefore checked.
  init(checked bytes: ByteSpan) { text = ByteText(bytes) }

  /// The JSON text, without white space between tokens.
  public var description: String { text.string }

  /// The text without white space; nil if it has none.
  private static func compact(_ bytes: ByteSpan) -> Result<ByteText?, JSONFault> {
    Result { () throws(JSONFault) in
      let indexer = JSONIndexer()
      let arena = ScratchArena(capacity: bytes.count)
      // What is read here is in their memory.
      defer { withExtendedLifetime((indexer, arena)) {} }
      let json = try indexer.validated(bytes)
      if let fault = json.unpairedSurrogate(from: 0, to: json.offsetCount) { throw fault }
      let compact = json.compactSpan(from: 0, to: json.offsetCount, arena: arena)
      return compact.count == bytes.count ? nil : ByteText(compact)
    }
  }
}
