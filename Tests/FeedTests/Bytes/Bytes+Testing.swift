@testable import Feed

/// Runs the body with a span over the bytes.
func withSpan<Result>(_ bytes: [UInt8], _ body: (ByteSpan) throws -> Result) rethrows -> Result {
  try bytes.withUnsafeBytes { try body(ByteSpan($0)) }
}

/// Runs the body with a span over the text's UTF-8.
func withSpan<Result>(_ text: String, _ body: (ByteSpan) throws -> Result) rethrows -> Result {
  try withSpan(Array(text.utf8), body)
}

/// The body's output.
func written(_ body: (ByteWriter) -> Void) -> String {
  let writer = ByteWriter()
  body(writer)
  return writer.written.text
}
