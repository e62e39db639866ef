import Glibc
import Synchronization

/// Immutable bytes that any number of responses share without copying.
///
/// Create one when the content changes, and return it until the next change. The compressed form is created on first
/// use, on the answering thread, and kept.
public final class HTTPContent: Sendable {
  // Written only in init.
  nonisolated(unsafe) private let base: UnsafeMutableRawPointer
  /// The number of bytes.
  public let count: Int
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
  public convenience init(_ bytes: some Collection<UInt8>) {
    self.init(count: bytes.count) { target in
      target.copyBytes(from: bytes)
    }
  }

  /// Copies a text as UTF-8, once.
  public convenience init(_ text: String) {
    self.init(text.utf8)
  }

  /// Lets the caller write the bytes in place.
  ///
  /// - Parameters:
  ///   - count: the number of bytes.
  ///   - write: must write all of them; they are zero before.
  public init(count: Int, writingWith write: (UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    // Never empty, because libmicrohttpd rejects null pointers.
    base = .allocate(byteCount: max(count, 1), alignment: 16)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: max(count, 1))
    write(UnsafeMutableRawBufferPointer(start: base, count: count))
  }

  deinit {
    base.deallocate()
  }

  /// Calls with the bytes, which are valid during the call.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// The address of the bytes, valid as long as this object is referenced.
  var address: UnsafeMutableRawPointer { base }

  /// Whether it has a size that is compressed.
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
