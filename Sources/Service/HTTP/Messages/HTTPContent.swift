import Glibc
import Synchronization

/// Bytes that never change, for any number of responses at once: none of them copies the bytes.
///
/// Make one when what is to be served changes, and hand it out until it changes again. The compressed form is
/// made when it is first asked for, on the thread that answers, and kept.
public final class HTTPContent: Sendable {
  // Written in init and never again.
  nonisolated(unsafe) private let base: UnsafeMutableRawPointer
  /// How many bytes there are.
  public let count: Int
  private let compressed = Mutex(Compressed.unknown)

  private enum Compressed {
    case unknown
    /// It would not be shorter.
    case useless
    case content(HTTPContent)
  }

  /// Below this, in bytes, compressing is not tried: it would save less than a packet.
  private static let minimumCompressedBytes = 1024
  /// Above this, in bytes, it is not either: it would take a server's thread for seconds.
  private static let maximumCompressedBytes = 16 << 20

  /// Copies bytes, this once.
  public convenience init(_ bytes: some Collection<UInt8>) {
    self.init(count: bytes.count) { target in
      target.copyBytes(from: bytes)
    }
  }

  /// Copies a text's UTF-8, this once.
  public convenience init(_ text: String) {
    self.init(text.utf8)
  }

  /// Lets the caller write the bytes where they stay.
  ///
  /// - Parameters:
  ///   - count: How many bytes.
  ///   - write: Must write all of them; they hold zeros before.
  public init(count: Int, writingWith write: (UnsafeMutableRawBufferPointer) -> Void) {
    self.count = count
    // Never empty, as libmicrohttpd takes no null pointer.
    base = .allocate(byteCount: max(count, 1), alignment: 16)
    base.initializeMemory(as: UInt8.self, repeating: 0, count: max(count, 1))
    write(UnsafeMutableRawBufferPointer(start: base, count: count))
  }

  deinit {
    base.deallocate()
  }

  /// The bytes, for as long as the closure runs.
  public func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// Where the bytes are, for who holds a reference to this.
  var address: UnsafeMutableRawPointer { base }

  /// The bytes in gzip's format; nil if that is not shorter.
  func gzipped() -> HTTPContent? {
    guard (Self.minimumCompressedBytes...Self.maximumCompressedBytes).contains(count) else { return nil }
    // Held while compressing, so that who asks at the same time waits for the one result.
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
