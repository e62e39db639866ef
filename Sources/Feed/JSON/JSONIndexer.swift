internal import CSimdjson

/// Finds the structure of JSON texts: a pass of our own for short ones, and simdjson's vectorised first stage for all others.
public final class JSONIndexer {
  private let indexer: OpaquePointer
  /// The latest text.
  let text: JSONText
  /// Where the text notes which bracket closes which.
  @exclusivity(unchecked) private var closings: UnsafeMutablePointer<UInt32>
  /// Numbers that they have room for.
  @exclusivity(unchecked) private var capacity = usualCapacity
  /// Where the tokens of a text start that was read in a single pass.
  @exclusivity(unchecked) private var offsets: UnsafeMutablePointer<UInt32>
  /// Whether short texts are read in a single pass.
  let readsInSinglePass: Bool

  private static let usualCapacity = 1024

  /// The kernels of simdjson that this processor can run, the fastest first. All come to the same results.
  static let kernels: [String] = {
    var names: [String] = []
    while let name = feedstore_json_kernel(names.count) { names.append(String(cString: name)) }
    return names
  }()

  public convenience init() { self.init(kernel: nil) }

  /// - Parameter kernel: one of `kernels`, which then reads short texts too; or nil for the process's.
  init(kernel: String?) {
    guard let indexer = feedstore_json_indexer_create(kernel) else { fatalError("out of memory") }
    self.indexer = indexer
    readsInSinglePass = kernel == nil
    closings = .allocate(capacity: JSONIndexer.usualCapacity)
    offsets = .allocate(capacity: JSONIndexer.usualCapacity + 1)
    text = JSONText(closings: closings)
  }

  deinit {
    feedstore_json_indexer_destroy(indexer)
    closings.deallocate()
    offsets.deallocate()
  }

  /// Finds the structure of a text and checks the whole of it.
  ///
  /// The result is valid until the next call, and as long as the indexer.
  public func validated(_ bytes: ByteSpan) throws(JSONFault) -> JSONText {
    try index(bytes)
    try text.validate()
    return text
  }

  /// Finds brackets, colons, commas and the starts of strings, numbers and literals.
  ///
  /// What is then found in `text` is valid until the next call. It says nothing of the grammar: see `JSONText.validate`.
  @inline(__always)
  func index(_ bytes: ByteSpan) throws(JSONFault) {
    guard readsInSinglePass, JSONSinglePass.byteCounts.contains(bytes.count) else {
      return try indexWithSimdjson(bytes)
    }
    if bytes.count > capacity { reserve(max(bytes.count, capacity * 2)) }
    guard let findings = JSONSinglePass.read(bytes, offsets: offsets, closings: closings) else {
      return try indexWithSimdjson(bytes)
    }
    text.describe(bytes, offsets: UnsafePointer(offsets), closings: closings, findings)
  }

  @inline(never)
  private func indexWithSimdjson(_ bytes: ByteSpan) throws(JSONFault) {
    var offsets: UnsafePointer<UInt32>?
    var count = 0
    switch feedstore_json_index(indexer, bytes.base, bytes.count, &offsets, &count) {
    case feedstore_json_ok:
      guard let offsets else { throw JSONFault(.empty, at: 0) }
      if count > capacity { reserve(max(count, capacity * 2)) }
      text.describe(bytes, offsets: offsets, offsetCount: count, closings: closings)
    case feedstore_json_empty: throw JSONFault(.empty, at: 0)
    case feedstore_json_invalid_utf8: throw JSONFault(.invalidUTF8, at: 0)
    case feedstore_json_invalid_string: throw JSONFault(inStringsOf: bytes)
    default: throw JSONFault(.tooLarge, at: 0)
    }
  }

  @inline(never)
  private func reserve(_ count: Int) {
    closings.deallocate()
    closings = .allocate(capacity: count)
    offsets.deallocate()
    // Of longer texts simdjson says where tokens start.
    offsets = .allocate(capacity: min(count, JSONSinglePass.byteCounts.upperBound) + 1)
    capacity = count
  }

  /// Gives memory back after a text much larger than usual.
  public func trim() {
    feedstore_json_indexer_trim(indexer, 4 << 20)
    if capacity > 1 << 20 { reserve(JSONIndexer.usualCapacity) }
  }

  /// Whether the bytes are well-formed UTF-8.
  public static func isUTF8(_ bytes: ByteSpan) -> Bool {
    bytes.isShortASCII || feedstore_json_is_utf8(bytes.base, bytes.count)
  }
}
