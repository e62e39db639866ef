public import FeedStore
public import Service

/// Runs the whole pipeline on files, without Kafka: protocol, section 8, `feedstore replay`.
public struct Replay: Sendable {
  /// Files in order; `-` is standard input.
  public var inputs: [String]
  /// The output file for changesets; `-` is standard output.
  public var output: String
  /// The output file for rejected records; nil to discard them.
  public var rejected: String?
  public var options: FeedStoreOptions
  /// Told of timestamps that keep changes waiting; nil if nobody is.
  public var log: Log?
  /// The size of each read in bytes; it does not affect the output.
  var chunkBytes = 1 << 20

  public init(inputs: [String], output: String, rejected: String?, options: FeedStoreOptions) {
    self.inputs = inputs
    self.output = output
    self.rejected = rejected
    self.options = options
  }

  /// Processes all input, publishes according to the records' timestamps, and flushes at the end.
  ///
  /// - Throws: ``ReplayError``, without publishing the waiting records; a file that was there before is only replaced by a
  ///   complete output. `UsageError`, before anything is written, if an output file is also an input.
  public func run() async throws -> ReplayReport { try await run(with: FeedStore(options: options)) }

  /// Runs inside the store's isolation, which is entered once.
  private func run(with store: isolated FeedStore) throws -> ReplayReport {
    let started = MonotonicClock.nanoseconds()
    try checkOutputs()
    let reader = ReplayReader(
      paths: inputs,
      defaultTopic: options.topics.items,
      chunkBytes: chunkBytes
    )
    try reader.checkPaths()
    if let log, options.coalescing.windowMilliseconds > 0 {
      reader.onJumpBack = { log.write(.replayTimeJumped, $0) }
    }
    let writer = try ReplayWriter(options: options, output: output, rejected: rejected)
    var progress = ProgressBar("replaying", total: reader.totalBytes, now: started)
    do {
      var outcome = ApplyOutcome.flushDue
      repeat {
        outcome = try store.apply(reader, time: .records)
        if store.isPublicationDue {
          try store.publish { (part) throws(ReplayError) in try writer.write(part) }
        }
        progress.update(reader.bytesRead, now: MonotonicClock.nanoseconds())
      } while outcome == .flushDue
    } catch let error as ReplayError {
      progress.finish()
      // Everything published so far stays published; what waits does not follow, but what was rejected is known.
      if store.isPublicationDue {
        try? store.publish { (part) throws(ReplayError) in try writer.writeRejected(part) }
      }
      throw writer.abandon(because: error)
    }
    progress.finish()
    try writer.finish()
    return ReplayReport(
      counters: store.counters,
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
        throw UsageError(.invalidValue, "\(what) \(same), which is also read; name another file")
      }
    }
  }
}
