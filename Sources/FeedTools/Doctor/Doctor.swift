import Changesets
package import Diagnostics
import Feed
package import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import Glibc
import HTTP
import Kafka
import OperatingSystem
import Settings

/// `feedstore doctor`: checks this machine, the files of the configuration and the cluster before the first start. It writes
/// nothing, and joins no group.
package struct Doctor: Sendable {
  /// The result of one check.
  package struct Finding: Sendable, Equatable {
    package enum Verdict: String, Sendable {
      case ok
      /// It works, but not well, or not for long.
      case look
      /// The daemon would not start, or would stop.
      case fails
      /// The check was not possible without writing, or because of another finding.
      case unknown = "?"
    }

    package let verdict: Verdict
    package let check: String
    /// The observation, and the remedy unless it is `ok`.
    package let text: String

    /// - Parameter body: returns the observation if all is well.
    static func of(_ check: String, _ body: () throws -> String) -> Finding {
      do {
        return Finding(verdict: .ok, check: check, text: try body())
      } catch {
        let error = (error as? KafkaError)?.configurationOrDaemonError ?? error
        return Finding(verdict: .fails, check: check, text: "\(error)")
      }
    }
  }

  private let configuration: FeedStoreConfiguration
  private let log: Log
  private(set) package var findings: [Finding] = []

  /// A certificate that ends within this many seconds should be renewed.
  private static let renewalSeconds: Int64 = 14 * 86_400
  /// A cluster that can be reached answers by then, unless a command has to print a token first.
  private static let firstMilliseconds: Int32 = 5_000
  private static let timeoutMilliseconds: Int32 = 10_000
  private static let closeMilliseconds: Int32 = 2_000
  private static let patienceMilliseconds: Int64 = 60_000

  package init(_ configuration: FeedStoreConfiguration, log: Log) {
    self.configuration = configuration
    self.log = log
  }

  /// The findings as lines with aligned columns.
  package var table: String {
    FollowLine.table(findings.map { [$0.verdict.rawValue, $0.check, UpdateText.printable($0.text)] })
  }

  /// Whether the daemon can start, as far as the checks tell.
  package var isFit: Bool { !findings.contains { $0.verdict == .fails } }

  /// Runs all checks.
  ///
  /// - Throws: ``ReplayError`` if it is interrupted. All other failures are findings.
  package mutating func run() async throws {
    note(.ok, "version", "FeedStore \(Release.description)")
    checkMachine()
    if configuration.http.isEnabled { checkServer() }
    findings.append(
      .of("key files") {
        try configuration.checkKeyFiles()
        return "none that others can read"
      }
    )
    for pair in configuration.kafka where ["ssl.certificate.location", "ssl.ca.location"].contains(pair.name)
    {
      checkEnd(of: pair.value, "kafka.\(pair.name)")
    }
    await checkCluster()
    if StopRequest.process.isRequested {
      throw ReplayError(.interrupted, "interrupted before the last check")
    }
  }

  private mutating func note(_ verdict: Finding.Verdict, _ check: String, _ text: String) {
    findings.append(Finding(verdict: verdict, check: check, text: text))
  }

  // MARK: This machine, and the files of the configuration

  private mutating func checkMachine() {
    if ProcessUsage.clockIsSynchronized {
      note(.ok, "clock", "synchronized")
    } else {
      note(
        .look,
        "clock",
        "no program synchronizes it, and the ends of tokens depend on it; run chrony or systemd-timesyncd"
      )
    }
    let http = configuration.http
    findings.append(
      .of("open files") {
        if http.isEnabled { try HTTPServer.checkOpenFiles(http.server) }
        return "at most \(ProcessUsage.read().maxDescriptors)"
      }
    )
  }

  private mutating func checkServer() {
    let http = configuration.http
    var leftOut: String?
    findings.append(
      .of("tokens") {
        let tokens = try http.acceptedTokens()
        let fetched = tokens.verifier?.fetched?.fetchOnce()
        if let failure = fetched?.failure { throw ConfigurationError(failure) }
        leftOut = tokens.verifier?.leftOut ?? fetched?.leftOut
        if let fetched { return "keys from \(fetched.url): \(fetched.keys)" }
        return tokens.bearer == nil && tokens.verifier == nil
          ? "none; requests need no token" : "they can be used"
      }
    )
    if !http.jwtKeys.isEmpty, http.jwt.issuer.isEmpty || http.jwt.audience.isEmpty {
      note(
        .look,
        "tokens",
        "tokens for other services are accepted; set http.jwt.issuer and http.jwt.audience"
      )
    }
    if let leftOut { note(.look, "tokens", "keys cannot be used: \(leftOut)") }
    findings.append(
      .of("HTTPS") { try http.tlsCredentials() == nil ? "off" : "certificate and key fit together" }
    )
    for (key, path) in [("certificate", http.tlsCertificate), ("clientAuthority", http.tlsClientAuthority)]
    where !path.isEmpty {
      checkEnd(of: path, "http.tls.\(key)")
    }
  }

  private mutating func checkEnd(of path: String, _ key: String) {
    do throws(HTTPServerError) {
      let end = try TLSCredentials.firstEnd(ofCertificatesIn: path)
      let seconds = end - Int64(time(nil))
      let date = Timestamp.rfc3339(milliseconds: end * 1_000)
      if seconds > Self.renewalSeconds {
        note(.ok, key, "valid until \(date)")
      } else {
        note(seconds > 0 ? .look : .fails, key, "a certificate in \(path) is valid until \(date); renew it")
      }
    } catch {
      note(.fails, key, "\(error.message); correct \(key)")
    }
  }

  // MARK: The cluster

  private mutating func checkCluster() async {
    do {
      var setup = TopicSetup(configuration, log: log)
      if configuration.oauthCommand.isEmpty { setup.timeoutMilliseconds = Self.firstMilliseconds }
      let report = try await setup.run()
      note(.ok, "brokers", "reachable")
      note(report)
      guard !report.requirements.contains(where: { $0.actual == "missing" }) else {
        return note(.unknown, "rights", "they can be checked when the topics exist")
      }
      var rights = Self(configuration, log: log)
      rights = try await WorkerThread.withKafka("doctor", configuration) { [rights] settings in
        var rights = rights
        rights.checkRights(settings)
        return rights
      }
      findings += rights.findings
    } catch {
      let servers = configuration.kafka.last { $0.name == "bootstrap.servers" }?.value
      note(.fails, "brokers", (servers.map { "kafka.bootstrap.servers=\($0): " } ?? "") + "\(error)")
    }
  }

  private mutating func note(_ report: TopicReport) {
    let mismatches = report.requirements.filter(\.isMismatch)
    for mismatch in mismatches { note(mismatch.verdict == .must ? .fails : .look, "topics", "\(mismatch)") }
    for source in report.missingSources {
      note(
        .fails,
        "topics",
        "\(source) of ingest.sources does not exist, or may not be described; create it, or correct the name"
      )
    }
    if let unknown = report.unknown {
      note(.unknown, "topics", "settings are not known: \(unknown)")
    } else if mismatches.isEmpty, report.missingSources.isEmpty {
      note(.ok, "topics", "partitions and settings are as needed")
    }
  }

  /// Tries each right that needs no write.
  private mutating func checkRights(_ settings: KafkaSettings) {
    let (topics, ingest) = (configuration.store.topics, configuration.ingest)
    for topic in topics.inputs + (topics.contents.map { [$0] } ?? []) + ingest.topics {
      findings.append(.of("right to read") { try readEnd(of: topic, settings) })
    }
    var state: Int?
    findings.append(
      .of("right to read") {
        state = try stateBytes(in: topics.changesets, settings)
        return topics.changesets
      }
    )
    if let state { noteMemory(of: state) }
    for (group, topics) in [(settings.groupID, topics.inputs), (ingest.group, ingest.topics)]
    where !topics.isEmpty {
      findings.append(.of("group") { try readOffsets(of: group, topics, settings) })
    }
    note(
      .unknown,
      "rights to write",
      """
      only a write shows whether the brokers allow Write on \(topics.changesets), \(topics.rejected) and the transactional \
      ids; compare them with docs/install.md, Access rights
      """
    )
  }

  /// Waits at the end of a topic's first partition: a broker refuses that without the right, even if there are no records.
  private func readEnd(of topic: String, _ settings: KafkaSettings) throws -> String {
    let client = try Consumer(
      configuration: settings.reader,
      isolationLevel: .readUncommitted,
      log: log.kafkaHandler
    )
    defer { try? client.close(timeoutMilliseconds: Self.closeMilliseconds) }
    let reader = PartitionReader(topic: topic, client: client)
    let marks = try client.queryWatermarks(
      reader.topicPartition(0),
      timeoutMilliseconds: Self.timeoutMilliseconds
    )
    try reader.add([0: marks.high])
    let start = MonotonicClock.milliseconds()
    var isRead = false
    while !isRead {
      let events = try reader.read(timeoutMilliseconds: 100) { _ in
        isRead = true
        return true
      }
      if let failure = events?.failure { throw failure }
      isRead = isRead || events?.ends.isEmpty == false
      guard !StopRequest.process.isRequested,
        MonotonicClock.milliseconds() - start < Self.patienceMilliseconds
      else {
        throw DaemonError.silence(of: topic, milliseconds: Self.patienceMilliseconds)
      }
    }
    return topic
  }

  /// Reads the committed offsets of a group, which needs the right to describe it.
  private func readOffsets(of group: String, _ topics: [String], _ settings: KafkaSettings) throws -> String {
    var probe = settings.probe
    probe["group.id"] = group
    let client = try Consumer(configuration: probe, isolationLevel: .readUncommitted, log: log.kafkaHandler)
    defer { try? client.close(timeoutMilliseconds: Self.closeMilliseconds) }
    let counts = try client.metadata(topics, timeoutMilliseconds: Self.timeoutMilliseconds).partitionCounts
    let partitions = counts.flatMap { topic, count in
      (0..<count).map { TopicPartition(topic: topic, partition: $0) }
    }
    let committed: [TopicPartition: CommittedOffset]
    do {
      committed = try client.committed(partitions, timeoutMilliseconds: Self.timeoutMilliseconds)
    } catch {
      // librdkafka waits for a coordinator, and tells only a poll that the brokers refuse to name it.
      let batch = client.makeBatch(capacity: 1)
      try client.poll(into: batch, timeoutMilliseconds: 0)
      for case .error(let cause) in batch.events { throw cause }
      throw error
    }
    return "\(group) has committed offsets of \(committed.count) of \(partitions.count) partitions"
  }

  /// Reads the changesets as a start does, and adds the sizes of each key's latest record.
  private func stateBytes(in topic: String, _ settings: KafkaSettings) throws -> Int {
    let reader = try TopicReader(
      settings,
      configuration,
      topic: (topic, "topics.changesets"),
      patienceMilliseconds: Self.patienceMilliseconds,
      log: log
    )
    defer { try? reader.close() }
    var sizes: [Int: Int] = [:]
    try reader.read(try reader.wholePartitions()) { message in
      var hasher = Hasher()
      hasher.combine(message.partition)
      if let key = message.key { hasher.combine(bytes: key) }
      sizes[hasher.finalize()] = message.payload?.count
      return true
    }
    return sizes.values.reduce(0, +)
  }

  private mutating func noteMemory(of state: Int) {
    let (most, memory) = (configuration.store.limits.maxStateBytes, ProcessUsage.read().memoryLimitBytes)
    let text = """
      the state has \(Quantity.bytes(state)), limits.maxStateBytes allows a process \(Quantity.bytes(most)), and the memory is \
      \(Quantity.bytes(memory))
      """
    // 0 if it is unknown.
    if memory > 0, most > memory {
      note(
        .look,
        "memory",
        "\(text); set limits.maxStateBytes to a value that fits (docs/rejected.md, Limits of state)"
      )
    } else if state > most {
      note(
        .look,
        "memory",
        "\(text); start several processes, which share the state, or raise limits.maxStateBytes"
      )
    } else {
      note(.ok, "memory", text)
    }
  }
}
