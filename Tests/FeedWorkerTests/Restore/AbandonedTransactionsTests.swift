import Changesets
import Diagnostics
import FeedKafka
import FeedStore
import Kafka
import Settings
import Synchronization
import Testing

@testable import FeedTransactions
@testable import FeedWorker

struct AbandonedTransactionsTests {
  private static let input = TopicPartition(topic: "items", partition: 0)
  private static let other = TopicPartition(topic: "items", partition: 1)

  private static let all = [input, other]

  private static func transactions(
    _ clients: Clients,
    onLine: @escaping @Sendable (String) -> Void = { _ in }
  ) throws -> AbandonedTransactions {
    let settings = try KafkaSettings([
      ConfigurationPair(name: "bootstrap.servers", value: "nowhere:1"),
      ConfigurationPair(name: "transactional.id", value: "own"),
    ])
    let log = Log(
      level: .info,
      output: DiagnosticOutput(isTerminal: false, write: onLine)
    )
    let identity = WorkerIdentity(number: 0, count: 1, process: ProcessIdentity(group: "group"))
    return AbandonedTransactions(clients, settings, identity, log)
  }

  @Test func `what a member left open that is gone is ended once`() throws {
    let clients = Clients(
      committed: [Self.input: "changesets=3 member=gone producer=theirs-0"],
      members: ["me"]
    )
    let transactions = try Self.transactions(clients)
    transactions.end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    transactions.end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    #expect(clients.registered == ["theirs-0"])
    // It may leave another transaction open after a restart.
    transactions.forget()
    transactions.end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    #expect(clients.registered == ["theirs-0", "theirs-0"])
  }

  @Test func `transactions of members that the group has are left alone`() throws {
    let clients = Clients(
      committed: [
        Self.input: "changesets=3 member=you producer=theirs-0",
        Self.other: "changesets=3 member=gone producer=gone-0",
      ],
      members: ["me", "you"]
    )
    try Self.transactions(clients).end(of: Self.all, among: Self.all, for: "me", timeoutMilliseconds: 1)
    #expect(clients.registered == ["gone-0"])
  }

  @Test func `an id that another member uses after a restart is left alone`() throws {
    let clients = Clients(
      committed: [
        Self.input: "changesets=3 member=gone producer=theirs-0",
        Self.other: "changesets=3 member=restarted producer=theirs-0",
      ],
      members: ["me", "restarted"]
    )
    try Self.transactions(clients).end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    #expect(clients.registered.isEmpty)
  }

  @Test(arguments: [[], ["you"]])
  func `a list without this member is not believed`(members: [String]) throws {
    let clients = Clients(
      committed: [Self.input: "changesets=3 member=gone producer=theirs-0"],
      members: Set(members)
    )
    try Self.transactions(clients).end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    #expect(clients.registered.isEmpty)
  }

  @Test(arguments: [
    "", "changesets=3", "changesets=3 member=me producer=theirs-0", "changesets=3 member=gone producer=own-0",
  ])
  func `nothing is ended that is nobody else's`(metadata: String) throws {
    let clients = Clients(committed: [Self.input: metadata], members: ["me"])
    try Self.transactions(clients).end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    #expect(clients.registered.isEmpty)
  }

  @Test func `several are ended one at a time, and one that fails is tried again`() throws {
    let clients = Clients(
      committed: [Self.input: "member=a producer=first-0", Self.other: "member=b producer=second-0"],
      members: ["me"]
    )
    clients.failures = 1
    let transactions = try Self.transactions(clients)
    for _ in 0..<4 { transactions.end(of: Self.all, among: Self.all, for: "me", timeoutMilliseconds: 1) }
    #expect(clients.registered == ["first-0", "first-0", "second-0"])
    #expect(clients.openProducers == 0)
  }

  @Test func `one whose producer is slow to close has ended`() throws {
    let clients = Clients(committed: [Self.input: "member=gone producer=theirs-0"], members: ["me"])
    clients.isSlowToClose = true
    let lines = Mutex<[String]>([])
    let transactions = try Self.transactions(clients) { line in lines.withLock { $0.append(line) } }
    transactions.end(of: [Self.input], among: Self.all, for: "me", timeoutMilliseconds: 1)
    let told = lines.withLock { $0 }
    #expect(told.count == 1 && told[0].contains("event=restore.transaction-ended"), "\(told)")
  }

  /// Unchecked: a test uses it on one thread.
  private final class Clients: WorkerClients, @unchecked Sendable {
    let committed: [TopicPartition: String]
    let members: Set<String>
    /// The number of registrations that fail.
    var failures = 0
    var isSlowToClose = false
    var registered: [String] = []
    var openProducers = 0

    init(committed: [TopicPartition: String], members: Set<String>) {
      self.committed = committed
      self.members = members
    }

    func makeProbe(_ settings: KafkaSettings, log: Log) -> any GroupProbe { Witness(self) }

    func makeReader(_ settings: KafkaSettings, log: Log) -> any RecordConsumer {
      preconditionFailure("nothing is read")
    }

    func makeProducer(
      _ configuration: KafkaConfiguration,
      reportsEnds: Bool,
      log: Log
    ) -> any TransactionClient {
      openProducers += 1
      return Registration(self, configuration["transactional.id"] ?? "")
    }

    func makeConsumer(_ configuration: KafkaConfiguration, log: Log) -> any GroupConsumer { unused() }
    func makeChangesets(_ settings: KafkaSettings, topic: String, log: Log) -> RestoreReader {
      unused()
    }
    func milliseconds() -> Int64 { 0 }
  }

  private final class Witness: GroupProbe {
    let clients: Clients

    init(_ clients: Clients) { self.clients = clients }

    func committed(
      _ partitions: [TopicPartition],
      timeoutMilliseconds: Int32
    ) -> [TopicPartition: CommittedOffset] {
      clients.committed.filter { partitions.contains($0.key) }.mapValues { CommittedOffset(1, metadata: $0) }
    }

    func memberIDs(timeoutMilliseconds: Int32) -> Set<String> { clients.members }
    func close(timeoutMilliseconds: Int32) {}
  }

  private final class Registration: TransactionClient {
    let clients: Clients
    let id: String
    var onStatistics: ((ClientStatistics) -> Void)?

    init(_ clients: Clients, _ id: String) {
      self.clients = clients
      self.id = id
    }

    var hasLostConnection: Bool { false }

    func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
      clients.registered.append(id)
      guard clients.failures > 0 else { return }
      clients.failures -= 1
      throw KafkaErrors.retriable
    }

    func close(timeoutMilliseconds: Int32) throws(KafkaError) {
      clients.openProducers -= 1
      if clients.isSlowToClose { throw KafkaErrors.retriable }
    }

    func deliveredEnd(of partition: TopicPartition) -> Int64? { nil }
    func begin() { unused() }
    func produce(
      topic: String,
      partition: Int32,
      key: UnsafeRawBufferPointer?,
      value: UnsafeRawBufferPointer?,
      headers: HeaderList,
      timestampMilliseconds: Int64
    ) { unused() }
    func queue(_ part: borrowing Publication, by writer: inout PublicationWriter) { unused() }
    func sendOffsets(
      _ offsets: [TopicPartition: CommittedOffset],
      _ membership: any GroupMembership,
      timeoutMilliseconds: Int32
    ) { unused() }
    func flush(timeoutMilliseconds: Int32) { unused() }
    func commit(timeoutMilliseconds: Int32) { unused() }
    func abort(timeoutMilliseconds: Int32) { unused() }
    func poll(timeoutMilliseconds: Int32) -> Bool { unused() }
    func takeDeliveryErrors() -> DeliveryErrors { unused() }
  }
}

private func unused() -> Never { preconditionFailure("this is not called") }
