public import FeedStore
import Service

/// Runs the whole pipeline on files, without Kafka: protocol, section 8, `feedstore replay`.
public struct Replay: Sendable {
  /// Files in order; `-` is standard input.
  public var inputs: [String]
  /// Where changesets go; `-` is standard output.
  public var output: String
  /// Where rejected records go; nil for nowhere.
  public var rejected: String?
  public var options: FeedStoreOptions
  /// Bytes asked for with each read; what is published does not depend on it.
  var chunkBytes = 1 << 20

  public init(inputs: [String], output: String, rejected: String?, options: FeedStoreOptions) {
    self.inputs = inputs
    self.output = output
    self.rejected = rejected
    self.options = options
  }

  /// Reads everything, publishes by the records' timestamps, and flushes at the end.
  ///
  /// - Throws: ``ReplayError``; what was waiting then is not published. `UsageError`, before anything is written,
  ///   if a file is to be written that is also read.
  public func run() async throws -> ReplayReport {
    let started = MonotonicClock.nanoseconds()
    try checkOutputs()
    let reader = ReplayReader(
      paths: inputs,
      defaultTopic: options.topics.items,
      chunkBytes: chunkBytes
    )
    let writer = try ReplayWriter(options: options, output: output, rejected: rejected)
    let store = FeedStore(options: options)
    var progress = ProgressBar("replaying", total: reader.totalBytes, now: started)
    do {
      var outcome = ApplyOutcome.flushDue
      repeat {
        outcome = try await store.apply(reader, time: .records)
        try await publish(store, writer)
        progress.update(reader.bytesRead, now: MonotonicClock.nanoseconds())
      } while outcome == .flushDue
    } catch {
      // What was published before stays published.
      progress.finish()
      try? writer.finish()
      throw error
    }
    progress.finish()
    try writer.finish()
    return ReplayReport(
      counters: await store.counters,
      feedCount: await store.feedCount,
      stateBytes: await store.stateBytes,
      bytesRead: reader.bytesRead,
      nanoseconds: MonotonicClock.nanoseconds() - started,
      keepsRejected: rejected != nil
    )
  }

  /// Refuses to write what is read: it would be emptied first.
  private func checkOutputs() throws(UsageError) {
    let outputs = [("--output", output)] + (rejected.map { [("--rejected", $0)] } ?? [])
    for (option, path) in outputs {
      guard let written = FileIdentity(path, standard: 1), written.isRegular else { continue }
      for input in inputs where FileIdentity(input, standard: 0) == written {
        let name = path == "-" ? "standard output" : path
        let other = input == "-" ? "standard input" : input
        let same = name == other ? name : "\(name), the same file as \(other)"
        throw UsageError(.invalidValue, "\(option) is \(same), which is also read; name another file")
      }
    }
  }

  private func publish(_ store: FeedStore, _ writer: ReplayWriter) async throws {
    guard await store.isPublicationDue else { return }
    var part = await store.beginFlush()
    while true {
      try writer.write(part)
      if part.isLast { break }
      part = await store.nextPart()
    }
    await store.confirm()
  }
}
