import Feed
import FeedStore
import FoundationEssentials
import OperatingSystem

/// Writes publications as replay lines (protocol, section 7), which a replay can read.
final class ReplayWriter {
  private let options: FeedStoreOptions
  private let changesets: OutputFile
  private let rejected: OutputFile?
  private var changesetOffsets: [Int32: Int64] = [:]
  private var rejectedOffsets: [Int32: Int64] = [:]

  /// - Parameters:
  ///   - output: the file for changesets.
  ///   - rejected: the file for rejected records; nil to discard them. It may be the same file as `output`.
  init(options: FeedStoreOptions, output: String, rejected: String?) throws(ReplayError) {
    self.options = options
    changesets = try OutputFile(output)
    if let rejected {
      // If the file at `output` is also `rejected`, it must be opened only once, or one would overwrite the other. A
      // file that did not exist has a temporary one by now.
      let isShared = ["", AtomicFile.suffix].contains { suffix in
        let file = FileIdentity(output + suffix, standard: 1)
        return file != nil && file == FileIdentity(rejected + suffix, standard: 1)
      }
      self.rejected = isShared ? changesets : try OutputFile(rejected)
    } else {
      self.rejected = nil
    }
  }

  func write(_ publication: borrowing Publication) throws(ReplayError) {
    for record in publication.records {
      write(record, publication)
      try changesets.flushIfLarge()
    }
    try writeRejected(publication)
  }

  func writeRejected(_ publication: borrowing Publication) throws(ReplayError) {
    for record in publication.rejected { try write(record) }
  }

  func write(_ record: RejectedRecord) throws(ReplayError) {
    guard let rejected else { return }
    write(record, to: rejected.buffer)
    try rejected.flushIfLarge()
  }

  /// The files, each once.
  private var files: [OutputFile] {
    rejected.map { $0 === changesets ? [$0] : [changesets, $0] } ?? [changesets]
  }

  func finish() throws(ReplayError) {
    for file in files { try file.flush() }
    for file in files { try file.commit() }
  }

  /// Writes the buffers when a replay fails, without replacing files.
  ///
  /// - Returns: the error, with the names of unchanged files.
  func abandon(because error: ReplayError) -> ReplayError {
    let kept = files.filter(\.isReplacing).map(\.name)
    for file in files where !file.isReplacing {
      guard (try? file.flush()) != nil else { continue }
      try? file.commit()
    }
    if kept.isEmpty { return error }
    return error.adding(
      "; \(kept.joined(separator: " and ")) \(kept.count == 1 ? "is" : "are") left unchanged"
    )
  }

  private func nextOffset(_ offsets: inout [Int32: Int64], _ partition: Int32) -> Int64 {
    let offset = offsets[partition, default: 0]
    offsets[partition] = offset + 1
    return offset
  }

  private func write(_ record: OutputRecord, _ publication: borrowing Publication) {
    let line = changesets.buffer
    let offset = nextOffset(&changesetOffsets, record.partition)
    writeStart(line, topic: options.topics.changesets, record.partition, offset, record.time)
    var isFirst = true
    ChangesetHeaders.forEach(record, in: publication, source: options.output.source) { name, value in
      writeHeader(line, name, value, isFirst: isFirst)
      isFirst = false
    }
    line.append("],\"key\":")
    line.append(quoted: publication.bytes(record.key))
    line.append(",\"value\":")
    if let value = record.value { line.append(publication.bytes(value)) } else { line.append("null") }
    line.append("}\n")
  }

  private func write(_ record: RejectedRecord, to line: ByteWriter) {
    let offset = nextOffset(&rejectedOffsets, record.partition)
    writeStart(
      line,
      topic: options.topics.rejected,
      record.partition,
      offset,
      record.time
    )
    var isFirst = true
    RejectedHeaders.forEach(record) { name, value in
      writeHeader(line, name, value, isFirst: isFirst)
      isFirst = false
    }
    line.append("],")
    writeBytes(line, "key", record.key)
    line.append(",")
    writeBytes(line, "payload", record.value)
    line.append("}\n")
  }

  private func writeStart(
    _ line: ByteWriter,
    topic: String,
    _ partition: Int32,
    _ offset: Int64,
    _ timestamp: Int64
  ) {
    line.append("{\"topic\":\"")
    line.append(string: topic)
    line.append("\",\"partition\":")
    line.append(decimal: Int(partition))
    line.append(",\"offset\":")
    line.append(decimal: Int(offset))
    line.append(",\"ts\":")
    line.append(decimal: Int(timestamp))
    line.append(",\"headers\":[")
  }

  private func writeHeader(_ line: ByteWriter, _ name: StaticString, _ value: ByteSpan, isFirst: Bool) {
    line.append(isFirst ? "\"" : ",\"")
    line.append(name)
    line.append("\",")
    line.append(quoted: value)
  }

  /// Writes a text field, or a base64 field with a longer name if the bytes are not UTF-8.
  private func writeBytes(_ line: ByteWriter, _ field: StaticString, _ bytes: [UInt8]?) {
    line.append("\"")
    line.append(field)
    guard let bytes else {
      line.append("\":null")
      return
    }
    bytes.withUnsafeBytes { raw in
      let span = ByteSpan(raw)
      if JSONIndexer.isUTF8(span) {
        line.append("\":")
        line.append(quoted: span)
      } else {
        line.append("Base64\":\"")
        line.append(string: Data(bytes).base64EncodedString())
        line.append("\"")
      }
    }
  }
}
