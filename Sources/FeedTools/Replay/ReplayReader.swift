public import Feed
public import FeedStore
import Glibc

/// Reads replay files, one after the other, as one input.
///
/// A batch for the store: lines are parsed in place, and only as far as the store takes them.
public final class ReplayReader: InputBatch, @unchecked Sendable {
  private let paths: [String]
  private let parser: ReplayLineParser
  private var nextPath = 0
  private var descriptor: Int32 = -1
  private var path = ""
  /// The number of the line that was read last, from 1.
  private(set) var lineNumber = 0
  private var isAtEndOfFile = true

  private var buffer: UnsafeMutableRawBufferPointer
  /// The bytes that were read and not yet parsed.
  private var start = 0
  private var end = 0
  /// How far a line's end was looked for already.
  private var searched = 0
  private var record: InputRecord?

  /// Bytes read so far, of all files.
  public private(set) var bytesRead: Int64 = 0

  /// Bytes asked for with each read.
  private let chunkBytes: Int
  /// A line longer than this is refused; simdjson indexes texts of up to 4 GiB.
  private static let maxLineBytes = 1 << 31

  /// - Parameters:
  ///   - paths: files in order; `-` is standard input.
  ///   - defaultTopic: the topic of lines that name none.
  ///   - chunkBytes: bytes asked for with each read; what is read does not depend on it.
  public init(paths: [String], defaultTopic: String = TopicNames().items, chunkBytes: Int = 1 << 20) {
    self.paths = paths
    self.chunkBytes = chunkBytes
    parser = ReplayLineParser(defaultTopic: defaultTopic)
    buffer = .allocate(byteCount: chunkBytes, alignment: 64)
  }

  deinit {
    if descriptor > 0 { close(descriptor) }
    buffer.deallocate()
  }

  /// The files' sizes together; nil if one of them has none, like a pipe.
  public var totalBytes: Int64? {
    var total: Int64 = 0
    for path in paths {
      var status = stat()
      guard path != "-", stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      total += Int64(status.st_size)
    }
    return total
  }

  // MARK: InputBatch

  public func current() throws -> InputRecord? {
    if let record { return record }
    while let line = try nextLine() {
      lineNumber += 1
      do {
        record = try parser.parse(line)
      } catch {
        throw ReplayError(
          .invalidLine,
          "\(name):\(lineNumber): the line \(error.problem)",
          problem: error.problem
        )
      }
      if let record { return record }
    }
    return nil
  }

  public func advance() { record = nil }

  /// The headers of the current record: names and values by turns.
  var headers: [ByteSpan?] { record == nil ? [] : parser.headers }
  /// The first field that a replay writes and that the current record's line does not have.
  var omittedField: String? { record == nil ? nil : parser.omittedField }
  /// Which of the files is read, from 0.
  var fileNumber: Int { nextPath - 1 }

  // MARK: Lines

  private var name: String { path == "-" ? "standard input" : path }

  /// The next line without its line feed; nil after the last line of the last file.
  private func nextLine() throws(ReplayError) -> ByteSpan? {
    while true {
      if let base = buffer.baseAddress, searched < end,
        let found = memchr(base + searched, 0x0A, end - searched)
      {
        let lineEnd = base.distance(to: UnsafeMutableRawPointer(found))
        let line = span(start, lineEnd)
        start = lineEnd + 1
        searched = start
        return line
      }
      searched = end
      if isAtEndOfFile {
        if start < end {
          let line = span(start, end)
          start = end
          return line
        }
        guard try openNext() else { return nil }
      } else {
        try fill()
      }
    }
  }

  private func span(_ from: Int, _ to: Int) -> ByteSpan {
    ByteSpan(UnsafeRawBufferPointer(rebasing: buffer[from..<to]))
  }

  private func openNext() throws(ReplayError) -> Bool {
    if descriptor > 0 { close(descriptor) }
    descriptor = -1
    guard nextPath < paths.count else { return false }
    path = paths[nextPath]
    nextPath += 1
    lineNumber = 0
    descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure() }
    isAtEndOfFile = false
    start = 0
    end = 0
    searched = 0
    return true
  }

  private func failure() -> ReplayError {
    ReplayError(.cannotRead, "cannot read \(name): \(String(cString: strerror(errno)))")
  }

  private func fill() throws(ReplayError) {
    if start > 0, let base = buffer.baseAddress {
      // What is left of a line goes to the front.
      memmove(base, base + start, end - start)
      end -= start
      searched -= start
      start = 0
    }
    if end == 0, buffer.count > 16 * chunkBytes { resize(to: chunkBytes) }
    if end == buffer.count {
      guard buffer.count < ReplayReader.maxLineBytes else {
        throw ReplayError(
          .invalidLine,
          "\(name):\(lineNumber + 1): the line is longer than \(ReplayReader.maxLineBytes) bytes"
        )
      }
      resize(to: buffer.count * 2)
    }
    while true {
      let count = read(descriptor, buffer.baseAddress! + end, min(buffer.count - end, chunkBytes))
      if count < 0 {
        if errno == EINTR { continue }
        throw failure()
      }
      if count == 0 { isAtEndOfFile = true }
      end += count
      bytesRead += Int64(count)
      return
    }
  }

  private func resize(to size: Int) {
    let resized = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
    if end > 0 { resized.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[0..<end])) }
    buffer.deallocate()
    buffer = resized
  }
}
