package import Diagnostics
package import Feed
package import FeedConfiguration
import FeedIngest
import FeedStatus
package import FeedStore
import OperatingSystem
import Settings
import Synchronization

/// Runs the whole pipeline on files, without Kafka: `feedstore replay` (docs/command-line.md).
package struct Replay: Sendable {
  /// Files in order; `-` is standard input.
  package var inputs: [String]
  /// The output file for changesets; `-` is standard output.
  package var output: String
  /// The output file for rejected records; nil to discard them.
  package var rejected: String?
  package var options: FeedStoreOptions
  /// The mapping of rows, if the files contain rows instead of records of feeds.
  package var ingest: IngestOptions?
  /// Called with timestamps that keep changes waiting.
  package var log: Log?
  /// The size of each read in bytes; it does not affect the output.
  var chunkBytes = 1 << 20

  package init(inputs: [String], output: String, rejected: String?, options: FeedStoreOptions) {
    self.inputs = inputs
    self.output = output
    self.rejected = rejected
    self.options = options
  }

  /// Processes all input, publishes according to the records' timestamps, and flushes at the end.
  ///
  /// - Throws: ``ReplayError``, without publishing the waiting records; an earlier file is only replaced by a complete
  ///   output. `UsageError`, before anything is written, if an output file is also an input.
  package func run() async throws -> ReplayReport { try await run(with: FeedStore(options: options)) }

  /// Runs inside the store's isolation, which is entered once.
  private func run(with store: isolated FeedStore) throws -> ReplayReport {
    let started = MonotonicClock.nanoseconds()
    try checkOutputs()
    let reader = ReplayReader(
      paths: inputs,
      defaultTopic: ingest?.topics.first ?? options.topics.items,
      chunkBytes: chunkBytes
    )
    try reader.checkPaths()
    if let log, options.coalescing.windowMilliseconds > 0 {
      reader.onJumpBack = { log.write(.replayTimeJumped, $0) }
    }
    let writer = try ReplayWriter(options: options, output: output, rejected: rejected)
    var (rows, rejects): (Int, [RejectCode: Int]) = (0, [:])
    let mapped = ingest.map { ingest in
      MappedRows(reader, ingest, options, SentSections(), headers: { reader.headers }) { row, outcome in
        guard let outcome else {
          throw reader.refusal("the topic is not in ingest.sources; add it there, or leave the line out")
        }
        rows += 1
        guard case .rejected(let rejection) = outcome else { return }
        rejects[rejection.code, default: 0] += 1
        try writer.write(RejectedRecord(row, rejection))
      }
    }
    let batch: any InputBatch = mapped ?? reader
    var progress = ProgressBar("replaying", total: reader.totalBytes, now: started)
    do {
      var outcome = ApplyOutcome.flushDue
      repeat {
        outcome = try store.apply(batch, time: .records)
        StopRequest.process.records.store(store.counters.records, ordering: .relaxed)
        if store.isPublicationDue {
          try store.publish { (part) throws(ReplayError) in try writer.write(part) }
        }
        progress.update(reader.bytesRead, now: MonotonicClock.nanoseconds())
      } while outcome == .flushDue
    } catch let error as ReplayError {
      progress.finish()
      // Published changes stay published, without the waiting ones; rejected records are reported.
      if store.isPublicationDue {
        try? store.publish { (part) throws(ReplayError) in try writer.writeRejected(part) }
      }
      throw writer.abandon(because: error)
    }
    progress.finish()
    try writer.finish()
    var counters = store.counters
    counters.rejects.merge(rejects, uniquingKeysWith: +)
    return ReplayReport(
      counters: counters,
      rows: ingest == nil ? nil : rows,
      ignoredFields: store.ignoredFields,
      feedCount: store.feedCount,
      stateBytes: store.stateBytes,
      bytesRead: reader.bytesRead,
      nanoseconds: MonotonicClock.nanoseconds() - started,
      keepsRejected: rejected != nil
    )
  }

  /// Rejects output files that are also inputs, or whose temporary files are.
  private func checkOutputs() throws(UsageError) {
    let outputs = [("--output", output)] + (rejected.map { [("--rejected", $0)] } ?? [])
    let written = outputs.flatMap { option, path in
      [("\(option) is", path), ("\(option) is first written to", path + AtomicFile.suffix)]
    }
    for (what, path) in written {
      guard let written = FileIdentity(path, standard: 1), written.isRegular else { continue }
      for input in inputs where FileIdentity(input, standard: 0) == written {
        let name = path == "-" ? "standard output" : path
        let other = input == "-" ? "standard input" : input
        let same = name == other ? name : "\(name), the same file as \(other)"
        throw UsageError("\(what) \(same), which is also read; name another file")
      }
    }
  }
}

/// Why a replay stopped.
package struct ReplayError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kind of error; stable.
  package enum Code: String, Sendable {
    case cannotRead = "cannot-read"
    case cannotWrite = "cannot-write"
    case invalidLine = "invalid-line"
    case interrupted
  }

  package let code: Code
  /// The file, the line if there is one, and the remedy.
  package let message: String
  /// The problem with a line after which reading can continue, without its position.
  let problem: String?

  init(_ code: Code, _ message: String, problem: String? = nil) {
    self.code = code
    self.message = message
    self.problem = problem
  }

  /// The same error with more words at the end of the message.
  func adding(_ text: String) -> ReplayError { ReplayError(code, message + text, problem: problem) }

  package var description: String { message }
}

/// The result of a replay.
package struct ReplayReport: Sendable {
  package let counters: StoreCounters
  /// Rows and change events that were mapped to its records; nil if the input was records.
  package let rows: Int?
  /// The fields of events without effect.
  package let ignoredFields: IgnoredFields
  /// The number of feeds at the end.
  package let feedCount: Int
  /// Their size in bytes, as counted for `limits.maxStateBytes`.
  package let stateBytes: Int
  /// The size of the input files, in bytes.
  package let bytesRead: Int64
  package let nanoseconds: Int64
  /// Whether rejected records were written.
  package let keepsRejected: Bool

  package var rejectedRecords: Int { counters.rejectedRecords }

  /// The report as text, for standard error.
  package var text: String {
    var table = ReportTable("replay")
    if let rows { table.add("rows", count: rows) }
    table.add("records", count: counters.records)
    table.add("events", count: counters.events)
    table.add("feeds", count: feedCount)
    table.add("state", bytes: stateBytes)
    table.add(counters)
    table.add("ignored fields", text: ignoredText)
    table.add("bytes in", bytes: bytesRead)
    table.add("bytes out", bytes: counters.outputBytes)
    table.add("time", nanoseconds: nanoseconds)
    table.add("rate", count: counters.records, perNanoseconds: nanoseconds)
    var text = table.text
    if counters.rejectedRecords > 0, !keepsRejected {
      text += "the rejected records were not kept; --rejected FILE keeps them with the reasons\n"
    }
    return text
  }

  /// `section.upsert items 3, item.upsert colour 1`: the most frequent ones.
  private var ignoredText: String {
    let sorted = ignoredFields.counts.sorted {
      ($1.value, $0.key.operation, $0.key.field) < ($0.value, $1.key.operation, $1.key.field)
    }
    if sorted.isEmpty { return "none" }
    let shown = sorted.prefix(Self.mostIgnoredFields).map {
      "\($0.key.operation) \(UpdateText.printable($0.key.field)) \(Quantity.count($0.value))"
    }
    let rest = sorted.count - shown.count
    return shown.joined(separator: ", ") + (rest > 0 ? ", and \(rest) more" : "")
  }

  private static let mostIgnoredFields = 20
}
