internal import CZlib
import Glibc
import Synchronization

/// Immutable bytes that any number of responses share without copying.
///
/// Create one when the content changes, and return it until the next change. The compressed form is created on first
/// use, on the answering thread, and kept.
package final class HTTPContent: Sendable {
  // Written only in init.
  nonisolated(unsafe) private let base: UnsafeMutableRawPointer
  /// The number of bytes.
  package let count: Int
  private let compressed = Mutex(Compressed.unknown)

  private enum Compressed {
    case unknown
    /// Compression does not make it shorter.
    case useless
    case content(HTTPContent)
  }

  /// Smaller content is not compressed, because that would not save a packet.
  private static let minimumCompressedBytes = 1024
  /// Larger content is not compressed, because that would block a server thread for seconds.
  private static let maximumCompressedBytes = 16 << 20

  /// Copies bytes once.
  package init(_ bytes: some Collection<UInt8>) {
    count = bytes.count
    // Never empty, because libmicrohttpd rejects null pointers.
    base = .allocate(byteCount: max(count, 1), alignment: 16)
    UnsafeMutableRawBufferPointer(start: base, count: count).copyBytes(from: bytes)
  }

  /// Copies a text as UTF-8, once.
  package convenience init(_ text: String) {
    self.init(text.utf8)
  }

  deinit {
    base.deallocate()
  }

  /// Calls with the bytes, which are valid during the call.
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// The address of the bytes, valid as long as this object is referenced.
  var address: UnsafeMutableRawPointer { base }

  /// Whether its size is worth compressing.
  var isWorthCompressing: Bool {
    (Self.minimumCompressedBytes...Self.maximumCompressedBytes).contains(count)
  }

  /// The compressed bytes; nil if they are not shorter.
  func gzipped() -> HTTPContent? {
    guard isWorthCompressing else { return nil }
    // Held while compressing, so that concurrent callers wait for one result.
    return compressed.withLock { compressed in
      if case .unknown = compressed {
        let bytes = withUnsafeBytes { Gzip.compress($0, upTo: count - 1) }
        compressed = bytes.map { .content(HTTPContent($0)) } ?? .useless
      }
      if case .content(let content) = compressed { return content }
      return nil
    }
  }
}

/// Compresses with zlib.
enum Gzip {
  /// Between zlib's default (6) and its fastest level: most of the gain in half the time.
  private static let level: Int32 = 4

  /// Compresses bytes in gzip format (RFC 1952); nil if the result exceeds `limit`, or there is no memory.
  static func compress(_ bytes: UnsafeRawBufferPointer, upTo limit: Int) -> [UInt8]? {
    // At a fixed address, because zlib keeps a pointer to it.
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    defer { stream.deallocate() }
    // 15: the largest window; plus 16: gzip instead of zlib format. 8: the default memory level.
    let started = deflateInit2_(
      stream,
      level,
      Z_DEFLATED,
      15 + 16,
      8,
      Z_DEFAULT_STRATEGY,
      ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size)
    )
    guard started == Z_OK else { return nil }
    defer { deflateEnd(stream) }

    var output: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65_536)
    var rest = bytes[...]
    // zlib's counts have 32 bits.
    repeat {
      let input = rest.prefix(1 << 30)
      rest = rest.dropFirst(input.count)
      let start = UnsafeRawBufferPointer(rebasing: input).assumingMemoryBound(to: UInt8.self)
      stream.pointee.next_in = UnsafeMutablePointer(mutating: start.baseAddress)
      stream.pointee.avail_in = UInt32(input.count)
      let isFilled = piece.withUnsafeMutableBufferPointer { piece in
        repeat {
          stream.pointee.next_out = piece.baseAddress
          stream.pointee.avail_out = UInt32(piece.count)
          guard deflate(stream, rest.isEmpty ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR else { return false }
          output.append(contentsOf: piece.prefix(piece.count - Int(stream.pointee.avail_out)))
        } while stream.pointee.avail_out == 0 && output.count <= limit
        return output.count <= limit
      }
      guard isFilled else { return nil }
    } while !rest.isEmpty
    return output
  }
}

/// The client's preferences: the value of `Accept` or `Accept-Encoding` (RFC 9110, section 12.4).
package struct QualityList {
  /// Names, with their quality in thousandths; 0 means "not acceptable".
  private let entries: [(name: Substring.UTF8View, quality: Int)]

  /// Further entries, and further parameters of an entry, are ignored, so that a long list costs little: no client has
  /// been seen to send so many.
  private static let mostEntries = 32
  private static let mostParameters = 8

  /// Parses a list; invalid entries are ignored, as is usual for these headers.
  package init(_ text: String) {
    entries = text.utf8.split(separator: UInt8(ascii: ","), maxSplits: Self.mostEntries)
      .prefix(Self.mostEntries).compactMap { part in
        let pieces = part.split(
          separator: UInt8(ascii: ";"),
          maxSplits: Self.mostParameters,
          omittingEmptySubsequences: false
        ).prefix(Self.mostParameters).map { $0.trimmingSpaces() }
        guard let name = pieces.first, !name.isEmpty else { return nil }
        guard let quality = pieces.dropFirst().first(where: Self.isQuality) else { return (name, 1000) }
        return Self.thousandths(quality.dropFirst(2)).map { (name, $0) }
      }
  }

  private static func isQuality(_ piece: Substring.UTF8View) -> Bool {
    HTTPField.isSameName(piece.prefix(2), "q=".utf8)
  }

  /// `0`, `0.5`, `1.000`: at most three digits after the point.
  private static func thousandths(_ text: Substring.UTF8View) -> Int? {
    let (zero, one) = (UInt8(ascii: "0"), UInt8(ascii: "1"))
    guard let whole = text.first, whole == zero || whole == one else { return nil }
    var rest = text.dropFirst()
    if let point = rest.popFirst(), point != UInt8(ascii: ".") { return nil }
    guard rest.count <= 3, rest.allSatisfy({ (zero...UInt8(ascii: "9")).contains($0) }) else { return nil }
    let fraction = (Array(rest) + [zero, zero, zero]).prefix(3).reduce(0) { 10 * $0 + Int($1 - zero) }
    return min(1000, (whole == one ? 1000 : 0) + fraction)
  }

  /// The quality of a media type in thousandths; 0 if it is not accepted.
  ///
  /// The most specific entry counts: the type itself, then `type/*`, then `*/*`. Parameters are ignored.
  func quality(ofMediaType mediaType: String) -> Int {
    let name = Substring(mediaType.utf8.prefix { $0 != UInt8(ascii: ";") }.trimmingSpaces())
    let family = name.prefix { $0 != "/" } + "/*"
    return quality(of: name) ?? quality(of: family) ?? quality(of: "*/*") ?? 0
  }

  /// Whether a content coding such as `gzip` is accepted.
  func acceptsEncoding(_ name: Substring) -> Bool {
    (quality(of: name) ?? quality(of: "*") ?? 0) > 0
  }

  /// The preferred media type, the first among equals; nil if none is accepted.
  package func best(of mediaTypes: [String]) -> String? {
    var best: (mediaType: String, quality: Int)?
    for mediaType in mediaTypes {
      let quality = quality(ofMediaType: mediaType)
      if quality > best?.quality ?? 0 { best = (mediaType, quality) }
    }
    return best?.mediaType
  }

  private func quality(of name: Substring) -> Int? {
    entries.first { HTTPField.isSameName($0.name, name.utf8) }?.quality
  }
}
