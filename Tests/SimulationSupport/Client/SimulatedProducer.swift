@testable public import Kafka

/// A transactional producer, as the program that uses librdkafka sees it.
public final class SimulatedProducer: SimulatedClient {
  /// How one transaction ends.
  private enum End: Equatable {
    case committing, aborting
  }

  private let id: String
  private let timeout: Int64
  private let capacity: Int
  private var key: ProducerKey?
  private var isInTransaction = false
  private var lostConnectionsBefore = 0
  /// Counts transactions, so that what is left of an earlier one does nothing.
  private var number = 0
  private var queue: [(partition: TopicPartition, record: SimulatedRecord)] = []
  private var inFlight = 0
  private var added: Set<TopicPartition> = []
  private var hasOffsets = false
  private var sequences: [TopicPartition: Int32] = [:]
  private var deliveredEnds: [TopicPartition: Int64] = [:]
  private var abortable: KafkaError?
  private var fatal: KafkaError?
  private var end: (kind: End, result: Result<Void, KafkaError>?)?
  private var errors = DeliveryErrors()
  /// Delivery errors that are not reported yet.
  private var unreported = DeliveryErrors()
  private let changed: Signal
  private let work: Signal

  /// It waits for an answer as long as its connection stands.
  override var requestTimeout: Int64 { 60_000_000 }
  private static let batchRecords = 16

  /// - Parameters:
  ///   - timeout: how long a transaction may take, in milliseconds.
  ///   - capacity: how many records may wait.
  public init(
    _ network: SimulatedNetwork,
    _ process: SimulatedProcess,
    transactionalID: String,
    timeoutMilliseconds timeout: Int64,
    capacity: Int
  ) {
    id = transactionalID
    self.timeout = timeout * 1_000
    self.capacity = capacity
    changed = Signal(network.simulator)
    work = Signal(network.simulator)
    super.init(network, process, "producer")
    simulator.spawn(process) { [self] in send() }
  }

  // MARK: Errors

  private func error(
    _ code: KafkaErrorCode,
    _ action: String,
    abort: Bool = false,
    fatal: Bool = false
  ) -> KafkaError {
    KafkaError(
      kind: code,
      message: "\(action): \(code)",
      isRetriable: !abort && !fatal && (code == .timedOut || code == .queueFull),
      isFatal: fatal,
      requiresAbort: abort
    )
  }

  private func check(_ action: String) throws(KafkaError) {
    spend()
    if isGone { throw error(.closed, action, fatal: true) }
    if let fatal { throw fatal }
  }

  private func checkOpen(_ action: String) throws(KafkaError) {
    try check(action)
    if let abortable { throw abortable }
  }

  /// The transaction, or the producer, has failed: with the error that is returned.
  @discardableResult
  private func fail(_ code: KafkaErrorCode, _ action: String) -> KafkaError {
    simulator.tell("\(name): \(action) has failed: \(code)")
    if code == .producerFenced || code == .invalidTransactionState || code == .fencedInstance {
      fatal = error(code == .producerFenced ? .fenced : code, action, fatal: true)
    } else if abortable == nil {
      abortable = error(code, action, abort: true)
    }
    changed.notify()
    return fatal ?? abortable ?? error(code, action, abort: true)
  }

  // MARK: Calls

  public func initTransactions(timeoutMilliseconds: Int32) throws(KafkaError) {
    try check("initTransactions")
    let deadline = simulator.now + Int64(timeoutMilliseconds) * 1_000
    do throws(RefusedRequest) {
      key = try ask(.initProducer, .transactions, until: deadline) {
        [cluster, id, timeout] broker throws(RefusedRequest) in
        try cluster.transactions.initProducer(at: broker, id, timeout: timeout)
      }
    } catch {
      let isFatal = !(error.passes || error.code == .timedOut)
      throw self.error(error.code, "initTransactions", fatal: isFatal)
    }
  }

  public func begin() throws(KafkaError) {
    try check("begin")
    guard key != nil, !isInTransaction else { throw error(.state, "begin") }
    isInTransaction = true
    lostConnectionsBefore = lostConnections
    number += 1
    added = []
    hasOffsets = false
    end = nil
    abortable = nil
  }

  /// Whether a connection was lost during the transaction that was committed last.
  public private(set) var hasLostConnection = false

  public func produce(_ record: SimulatedRecord, to partition: TopicPartition) throws(KafkaError) {
    if isGone { throw error(.closed, "produce", fatal: true) }
    if let fatal { throw fatal }
    guard isInTransaction, abortable == nil, end == nil else { throw error(.state, "produce") }
    guard queue.count + inFlight < capacity else {
      spend()
      throw error(.queueFull, "produce")
    }
    queue.append((partition, record))
    work.notify()
  }

  public func sendOffsets(
    _ offsets: [TopicPartition: CommittedOffset],
    _ membership: SimulatedMembership,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    try checkOpen("sendOffsets")
    guard isInTransaction, let key, !offsets.isEmpty else { return }
    let deadline = simulator.now + Int64(timeoutMilliseconds) * 1_000
    do throws(RefusedRequest) {
      try ask(.addOffsets, .transactions, until: deadline) { [cluster, id] broker throws(RefusedRequest) in
        try cluster.transactions.addOffsets(at: broker, id, key)
      }
    } catch {
      if error.code == .timedOut { throw self.error(.timedOut, "add offsets") }
      throw fail(error.code, "add offsets")
    }
    hasOffsets = true
    do throws(RefusedRequest) {
      try ask(.commitOffsets, .group(membership.group), until: deadline) {
        [cluster] broker throws(RefusedRequest) in
        let (memberID, generation) = (membership.memberID, membership.generation)
        try cluster.group(membership.group).commitOffsets(at: broker, offsets, key, memberID, generation)
      }
    } catch {
      throw fail(error.code, "commit offsets")
    }
    try checkOpen("sendOffsets")
  }

  public func commit(timeoutMilliseconds: Int32) throws(KafkaError) {
    try check("commit")
    guard isInTransaction else { throw error(.state, "commit") }
    if let abortable { throw abortable }
    let deadline = simulator.now + Int64(timeoutMilliseconds) * 1_000
    try flush(until: deadline)
    if let abortable { throw abortable }
    try finish(.committing, until: deadline)
    hasLostConnection = lostConnections != lostConnectionsBefore
  }

  public func abort(timeoutMilliseconds: Int32) throws(KafkaError) {
    try check("abort")
    guard isInTransaction else { throw error(.state, "abort") }
    let deadline = simulator.now + Int64(timeoutMilliseconds) * 1_000
    if end?.kind != .aborting {
      // What is on its way may arrive all the same.
      queue = []
      inFlight = 0
      number += 1
      end = nil
    }
    try finish(.aborting, until: deadline)
    report()
  }

  /// Asks for the end of the transaction, in the background, and waits for it.
  private func finish(_ kind: End, until deadline: Int64) throws(KafkaError) {
    if end == nil {
      end = (kind, nil)
      if added.isEmpty, !hasOffsets {
        end?.result = .success(())
      } else {
        let number = number
        simulator.spawn(process) { [self] in askForEnd(kind, number) }
      }
    }
    while end?.result == nil, simulator.now < deadline, !isGone {
      simulator.wait(for: changed, until: deadline)
    }
    if isGone { throw error(.closed, "\(kind)", fatal: true) }
    guard let result = end?.result else { throw error(.timedOut, "\(kind)") }
    if case .failure(let failure) = result { throw failure }
    isInTransaction = false
    abortable = nil
    end = nil
  }

  private func askForEnd(_ kind: End, _ number: Int) {
    guard let key else { return }
    let isCommit = kind == .committing
    let answer = Result { () throws(RefusedRequest) in
      try ask(
        .endTransaction,
        .transactions,
        until: simulator.now + timeout * 2,
        while: { self.number == number },
        { [cluster, id] broker throws(RefusedRequest) in
          try cluster.transactions.end(at: broker, id, key, isCommit: isCommit)
        }
      )
    }
    guard self.number == number, !isGone else { return }
    switch answer {
    case .success: end?.result = .success(())
    case .failure(let refused):
      let code = refused.code == .invalidProducerEpoch ? .producerFenced : refused.code
      end?.result = .failure(fail(code, "\(kind)"))
    }
    changed.notify()
  }

  /// Waits until everything is delivered, or has failed.
  private func flush(until deadline: Int64) throws(KafkaError) {
    while !queue.isEmpty || inFlight > 0, abortable == nil, fatal == nil, simulator.now < deadline, !isGone {
      simulator.wait(for: changed, until: deadline)
    }
    if isGone { throw error(.closed, "flush", fatal: true) }
    if let fatal { throw fatal }
    if abortable == nil, !queue.isEmpty || inFlight > 0 { throw error(.timedOut, "flush") }
  }

  public func flush(timeoutMilliseconds: Int32) throws(KafkaError) {
    try check("flush")
    try flush(until: simulator.now + Int64(timeoutMilliseconds) * 1_000)
  }

  /// The offset after the last record that a broker has reported as written to a partition.
  public func deliveredEnd(of partition: TopicPartition) -> Int64? { deliveredEnds[partition] }

  /// Waits, and says whether there are delivery errors.
  public func poll(timeoutMilliseconds: Int32) throws(KafkaError) -> Bool {
    if isGone { throw error(.closed, "poll", fatal: true) }
    spend(max(30, Int64(timeoutMilliseconds) * 1_000))
    return !errors.isEmpty
  }

  private func report() {
    errors.append(unreported)
    unreported = DeliveryErrors()
  }

  public func takeDeliveryErrors() -> DeliveryErrors {
    defer { errors = DeliveryErrors() }
    return errors
  }

  public func close(timeoutMilliseconds: Int32 = 0) {
    isClosed = true
    queue = []
    changed.notify()
    work.notify()
  }

  // MARK: Sending

  private func send() {
    while !isGone {
      guard let first = queue.first, fatal == nil, abortable == nil, let key else {
        simulator.wait(for: work, until: simulator.now + 1_000_000)
        continue
      }
      let count = queue.prefix(Self.batchRecords).prefix { $0.partition == first.partition }.count
      let records = queue.prefix(count).map(\.record)
      queue.removeFirst(count)
      inFlight = count
      deliver(records, to: first.partition, key, number)
      changed.notify()
    }
  }

  private func deliver(
    _ records: [SimulatedRecord],
    to partition: TopicPartition,
    _ key: ProducerKey,
    _ number: Int
  ) {
    let deadline = simulator.now + timeout
    func goesOn() -> Bool { self.number == number }
    do throws(RefusedRequest) {
      if !added.contains(partition) {
        // It may have arrived.
        defer { if goesOn() { added.insert(partition) } }
        try ask(.addPartition, .transactions, until: deadline, while: goesOn) {
          [cluster, id] broker throws(RefusedRequest) in
          try cluster.transactions.add(at: broker, partition, id, key)
        }
        guard goesOn(), !isGone else { return }
      }
      let sequence = sequences[partition] ?? 0
      let end = try ask(.produce, .leader(partition), until: deadline, while: goesOn) {
        [cluster] broker throws(RefusedRequest) in
        guard cluster.leader(of: partition) == broker, let log = cluster.log(partition) else {
          throw RefusedRequest(.notLeader)
        }
        try cluster.transactions.checkMayWrite(to: partition, key)
        defer { cluster.changed([partition.topic]) }
        return try log.append(records, key, sequence: sequence)
      }
      guard goesOn(), !isGone else { return }
      sequences[partition] = sequence + Int32(records.count)
      deliveredEnds[partition] = end
      inFlight = 0
    } catch {
      if goesOn(), !isGone { giveUp(records, partition, error.code, "write to \(partition)") }
    }
  }

  private func giveUp(
    _ records: [SimulatedRecord],
    _ partition: TopicPartition,
    _ code: KafkaErrorCode,
    _ action: String
  ) {
    let code = code == .timedOut ? KafkaErrorCode.messageTimedOut : code
    for _ in records { unreported.append(error(code, action)) }
    // As with librdkafka, a call may fail before that is reported: in every other transaction only an abort reports it.
    if number.isMultiple(of: 2) { report() }
    inFlight = 0
    queue = []
    // librdkafka takes a refused record for a reason to abort, whatever the code.
    simulator.tell("\(name): \(action) has failed: \(code)")
    if abortable == nil { abortable = error(code, action, abort: true) }
    changed.notify()
  }
}
