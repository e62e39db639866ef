package import Feed
import FeedStore
import Glibc
package import OperatingSystem

/// Reads replay files in sequence, as one input.
///
/// An input batch for the store. Lines are parsed in place, when the store asks for them. Files in gzip format are
/// decompressed, and a byte order mark at the beginning of a file is skipped.
package final class ReplayReader: InputBatch, @unchecked Sendable {
  private let paths: [String]
  private let stop: StopRequest
  private let parser: ReplayLineParser
  private var nextPath = 0
  private var descriptor: Int32 = -1
  private var path = ""
  /// The number of the last line read, from 1.
  private(set) var lineNumber = 0
  private var isAtEndOfFile = true
  /// Decompresses the current file; nil if it is not compressed.
  private var gzip: GzipReader?

  private var buffer: UnsafeMutableRawBufferPointer
  /// The start of the unparsed bytes.
  private var start = 0
  private var end = 0
  /// The position up to which the end of the line has been searched for.
  private var searched = 0
  private var record: InputRecord?

  /// The number of bytes read so far, from all files, before decompression.
  package private(set) var bytesRead: Int64 = 0

  /// Called if timestamps go back by more than a minute: for the first, until the latest is reached again.
  var onJumpBack: ((String) -> Void)?
  private var latest: (time: Int64, fileNumber: Int, lineNumber: Int)?
  private var isBehind = false
  private var jumpCount = 0

  private static let jumpMilliseconds: Int64 = 60_000
  private static let mostJumps = 10

  /// The size of each read in bytes.
  private let chunkBytes: Int
  /// Longer lines are rejected; an index of tokens is for at most 4 GiB.
  private static let maxLineBytes = 1 << 31

  /// - Parameters:
  ///   - paths: files in order; `-` is standard input.
  ///   - defaultTopic: the topic of lines without one.
  ///   - stop: ends the reading, also while it waits for input, with ``ReplayError/Code/interrupted``.
  ///   - chunkBytes: the size of each read in bytes; it does not affect the result.
  package init(
    paths: [String],
    defaultTopic: String = TopicNames().items,
    stop: StopRequest = .process,
    chunkBytes: Int = 1 << 20
  ) {
    self.paths = paths
    self.stop = stop
    self.chunkBytes = chunkBytes
    parser = ReplayLineParser(defaultTopic: defaultTopic)
    buffer = .allocate(byteCount: chunkBytes, alignment: 64)
  }

  deinit {
    if descriptor > 0 { close(descriptor) }
    buffer.deallocate()
  }

  /// The total size of the files; nil if one has no size, such as a pipe.
  package var totalBytes: Int64? {
    var total: Int64 = 0
    for path in paths {
      var status = stat()
      guard path != "-", stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
      total += Int64(status.st_size)
    }
    return total
  }

  /// Checks that all files can be read, so that no work is done if one of them cannot. Pipes are not opened,
  /// because that could wait for their writers.
  ///
  /// - Throws: ``ReplayError`` with the path.
  package func checkPaths() throws(ReplayError) {
    for path in paths where path != "-" {
      var status = stat()
      guard stat(path, &status) == 0, access(path, R_OK) == 0 else { throw Self.failure(path, errno) }
      if status.st_mode & S_IFMT == S_IFDIR { throw Self.failure(path, EISDIR) }
    }
  }

  // MARK: InputBatch

  package func current() throws -> InputRecord? {
    if let record { return record }
    while let line = try nextLine() {
      lineNumber += 1
      do {
        record = try parser.parse(line)
      } catch {
        throw ReplayError(
          .invalidLine,
          "\(place): the line \(error.problem)",
          problem: error.problem
        )
      }
      if let record {
        if onJumpBack != nil { noteTime(record.position) }
        return record
      }
    }
    return nil
  }

  private func noteTime(_ position: RecordPosition) {
    guard let latest, position.time < latest.time else {
      latest = (position.time, fileNumber, lineNumber)
      isBehind = false
      return
    }
    guard !isBehind, latest.time - position.time > Self.jumpMilliseconds else { return }
    isBehind = true
    jumpCount += 1
    guard jumpCount <= Self.mostJumps else { return }
    onJumpBack?(
      """
      \(place): the timestamp is \(Self.text(position.timestamp)), after \(Self.text(latest.time)) in \
      \(Self.name(paths[latest.fileNumber])):\(latest.lineNumber); a replay counts time by timestamps, so until they have \
      caught up, changes wait for coalesce.maxRecords, coalesce.maxBytes or the end; correct the timestamp, or sort the lines
      """
    )
  }

  /// A timestamp as number and text.
  static func text(_ timestamp: Int64) -> String {
    "\(timestamp) (\(Timestamp.rfc3339(milliseconds: TimestampFormat.nearest(timestamp))))"
  }

  package func advance() { record = nil }

  /// The headers of the current record: alternating names and values.
  var headers: [ByteSpan?] { record == nil ? [] : parser.headers }
  /// The first field that a replay would write and that the current line lacks.
  var omittedField: String? { record == nil ? nil : parser.omittedField }
  /// An error about the current line.
  func refusal(_ problem: String) -> ReplayError {
    ReplayError(.invalidLine, "\(name):\(lineNumber): \(problem)")
  }

  /// The index of the current file.
  var fileNumber: Int { nextPath - 1 }

  // MARK: Lines

  private var name: String { Self.name(path) }
  private static func name(_ path: String) -> String { path == "-" ? "standard input" : path }
  /// The current file and line.
  var place: String { "\(name):\(lineNumber)" }

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
    if nextPath == 0 { try checkPaths() }
    path = paths[nextPath]
    nextPath += 1
    lineNumber = 0
    // Opening a pipe waits until it is read.
    descriptor = path == "-" ? 0 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure(name, errno) }
    gzip = nil
    start = 0
    end = 0
    try readBeginning()
    if begins(with: GzipReader.signature) {
      gzip = GzipReader(UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
      end = start
      try readBeginning()
    }
    if begins(with: [0xEF, 0xBB, 0xBF]) { start += 3 }
    searched = start
    for (signature, format, tool) in ReplayReader.otherFormats where begins(with: signature) {
      let file = path == "-" ? "" : " " + path
      throw Self.failure(name, "it is \(format); convert it, as in: \(tool)\(file) | feedstore replay -")
    }
    return true
  }

  /// Unsupported formats: the first bytes of their files, and the programs that convert them.
  private static let otherFormats: [([UInt8], String, String)] = [
    ([0xFF, 0xFE, 0, 0], "UTF-32", "iconv -f UTF-32 -t UTF-8"),
    ([0, 0, 0xFE, 0xFF], "UTF-32", "iconv -f UTF-32 -t UTF-8"),
    ([0xFF, 0xFE], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ([0xFE, 0xFF], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ([0x7B, 0], "UTF-16", "iconv -f UTF-16LE -t UTF-8"),
    ([0, 0x7B], "UTF-16", "iconv -f UTF-16BE -t UTF-8"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0], "compressed with xz", "xzcat"),
    ([0x28, 0xB5, 0x2F, 0xFD], "compressed with zstd", "zstdcat"),
    ([0x42, 0x5A, 0x68], "compressed with bzip2", "bzcat"),
    ([0x04, 0x22, 0x4D, 0x18], "compressed with lz4", "lz4cat"),
  ]

  /// Reads as many bytes as `begins(with:)` needs: less than any record, so that a pipe's first one suffices.
  private func readBeginning() throws(ReplayError) {
    isAtEndOfFile = false
    while !isAtEndOfFile, end - start < 6 { try fill() }
  }

  private func begins(with signature: [UInt8]) -> Bool { buffer[start..<end].starts(with: signature) }

  private static func failure(_ name: String, _ number: Int32) -> ReplayError {
    failure(name, String(cString: strerror(number)))
  }

  private static func failure(_ name: String, _ reason: String) -> ReplayError {
    ReplayError(.cannotRead, "cannot read \(name): \(reason)")
  }

  private func fill() throws(ReplayError) {
    if start > 0, let base = buffer.baseAddress {
      // Moves an incomplete line to the front of the buffer.
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
    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[end..<min(buffer.count, end + chunkBytes)])
    let count: Int
    do throws(GzipReader.Fault) {
      count = try gzip?.decompress(into: room, read: readBytes) ?? readBytes(room)
    } catch {
      throw Self.failure(name, error.explanation)
    }
    guard count >= 0, !stop.isRequested else {
      guard stop.isRequested else { throw Self.failure(name, errno) }
      throw ReplayError(
        .interrupted,
        "interrupted before the end of the input, after line \(lineNumber) of \(name)"
      )
    }
    isAtEndOfFile = count == 0
    end += count
  }

  /// Reads bytes without decompression; a negative result is an error, with its code in `errno`.
  private func readBytes(_ room: UnsafeMutableRawBufferPointer) -> Int {
    while stop.waitToRead(descriptor) {
      let count = read(descriptor, room.baseAddress!, room.count)
      if count < 0, errno == EINTR || errno == EAGAIN { continue }
      bytesRead += Int64(max(0, count))
      return count
    }
    return -1
  }

  private func resize(to size: Int) {
    let resized = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 64)
    if end > 0 { resized.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[0..<end])) }
    buffer.deallocate()
    buffer = resized
  }
}
