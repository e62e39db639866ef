extension JSONIndexer {
  /// Does what `validated` does, and refuses a surrogate escape that has no partner: a string with one is not UTF-8.
  package func validatedWithPairedSurrogates(_ bytes: ByteSpan) throws(JSONFault) -> JSONText {
    let text = try validated(bytes)
    if let fault = text.unpairedSurrogate(from: 0, to: text.offsetCount) { throw fault }
    return text
  }
}
