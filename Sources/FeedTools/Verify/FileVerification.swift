import Feed
import FeedStore
import FeedVerification

/// Verifies the output files of a replay in sequence, as one input.
final class FileVerification {
  private let reader: ReplayReader
  private let topics: TopicNames
  private let changesets: [UInt8]
  private let rejected: [UInt8]
  /// The next expected offset of each partition.
  private var nextOffsets: [Int32: Int64] = [:]
  /// Whether an invalid line was reported. Only the first one is, because one mistake often causes many.
  private var hasStrayLine = false
  private var partitionsWithGap: Set<Int32> = []

  init(paths: [String], topics: TopicNames) {
    reader = ReplayReader(paths: paths, defaultTopic: topics.items)
    self.topics = topics
    changesets = Array(topics.changesets.utf8)
    rejected = Array(topics.rejected.utf8)
  }

  func run(_ verifier: FaultReporter) throws {
    while let record = try next(verifier) {
      let topic = record.position.topic
      if topic == changesets {
        if let field = reader.omittedField { reportStray("the line has no field '\(field)'", verifier) }
        checkOffset(record, verifier)
        verifier.check(
          VerifiedRecord(
            key: record.key,
            value: record.valueBytes,
            headers: reader.headers,
            timestamp: record.position.timestamp,
            location: location
          ),
          in: record.partition
        )
      } else if topic != rejected {
        // Rejected records may have been written to the same file.
        reportStray(
          "the topic is \"\(String(decoding: topic, as: UTF8.self))\", expected \"\(topics.changesets)\"",
          verifier
        )
      }
      reader.advance()
    }
  }

  private var location: VerificationLocation {
    VerificationLocation(source: reader.fileNumber, position: Int64(reader.lineNumber))
  }

  /// The next line that is a record.
  private func next(_ verifier: FaultReporter) throws -> InputRecord? {
    while true {
      do {
        return try reader.current()
      } catch {
        guard let problem = (error as? ReplayError)?.problem else { throw error }
        reportStray("the line \(problem)", verifier)
      }
    }
  }

  /// A replay numbers all records, so a gap in the offsets means a missing record.
  private func checkOffset(_ record: InputRecord, _ verifier: FaultReporter) {
    let expected = nextOffsets[record.partition, default: 0]
    nextOffsets[record.partition] = record.position.offset + 1
    guard record.position.offset != expected, partitionsWithGap.insert(record.partition).inserted else {
      return
    }
    verifier.report(
      "the offset in partition \(record.partition) is \(record.position.offset), expected \(expected)",
      at: location
    )
  }

  private func reportStray(_ message: String, _ verifier: FaultReporter) {
    if hasStrayLine { return }
    hasStrayLine = true
    verifier.report(message, at: location)
  }
}
