import Changesets
import FeedConfiguration
import FeedKafka
import FeedStatus
import FeedStore
import IngestTestSupport
import Kafka
import ObservationSupport
import OperatingSystem
import Oracle
import SimulationSupport
import Standby

@testable import FeedTransactions
@testable import FeedWorker

/// Lives through a story: daemons on a cluster, with everything that the story says, and then until all is published.
final class SimulationRun {
  struct Outcome {
    /// What was wrong; nil if nothing was.
    var failure: String?
    /// Faults that took effect.
    var faults = 0
    var requests = 0
    var events = 0
    var changesets = 0
    /// How long it took to catch up once nothing happened any more.
    var catchUpMilliseconds: Int64 = 0
    /// The published records.
    var observation = Observation()
    /// What every process has restored, by its name.
    var restored: [String: Restored] = [:]
    /// ``Restored/warm`` and ``Restored/cold`` of all processes.
    var warm: Int { restored.values.reduce(0) { $0 + $1.warm } }
    var cold: Int { restored.values.reduce(0) { $0 + $1.cold } }
  }

  struct Restored: Equatable {
    /// Records of the changesets topic that its worker read.
    var records = 0
    /// Partitions that it went on from where its standby had followed them, and those that it read from their beginnings.
    var warm = 0
    var cold = 0
  }

  private struct Place {
    var member: SimulatedMember?
    var starts = 0
    var isRunning: Bool { member?.isRunning == true }
  }

  private let story: Story
  private let simulator = Simulator()
  private let cluster: SimulatedCluster
  private let network: SimulatedNetwork
  private let identity: ProcessIdentity
  private let topics: TopicNames
  /// The groups, with the topics that they read: those that publish first, and then those that map rows.
  private let groups: [(group: GroupCoordinator, inputs: [String])]
  private var places: [Place]
  private var members: [SimulatedMember] = []
  private var observation = Observation()
  private var read: [TopicPartition: Int64] = [:]
  private var sharing = SharingFeeds()
  private var commits: [ProducerKey: (member: String, generation: String)] = [:]
  private var owners: [String: String] = [:]
  private var violations: [String] = []
  private var faults = 0
  private var hasHealed = false
  private var isStopping = false

  /// How long catching up may take, in milliseconds: sessions and transactions that time out, and pauses after failures.
  private static let patience: Int64 = 180_000

  /// How long showing the last contents may take: their window, a restoration, and a transaction that fails and is repeated.
  private static let contentsPatience: Int64 = 30_000

  /// - Parameter onLine: told what happens.
  init(_ story: Story, _ identity: ProcessIdentity, onLine: ((String) -> Void)? = nil) {
    self.story = story
    self.identity = identity
    let configuration = story.setting.configuration
    topics = configuration.store.topics
    simulator.onLine = onLine
    cluster = SimulatedCluster(simulator, brokers: 3)
    network = SimulatedNetwork(cluster)
    places = Array(repeating: Place(), count: story.setting.places)
    groups = [
      (cluster.group(), [topics.sections, topics.items]),
      (cluster.group(Setting.ingestGroup), configuration.ingest.topics),
    ]
    cluster.transactions.seed(story.seed)
    cluster.transactions.markerDelay = story.setting.markerMicroseconds
    let counts = [topics.rejected: 1, Setting.contentsTopic: Setting.contentsPartitions]
    for topic in topics.distinct + configuration.ingest.topics {
      cluster.createTopic(topic, partitions: counts[topic] ?? story.setting.partitions)
    }
    network.onDeath = { [unowned self] in die($0) }
    // Every second process asks the new leader of contents, so that members do not see the same ones.
    cluster.knowsLeader = { partition, process in
      partition.topic == Setting.contentsTopic && process.name.utf8.reduce(0, &+).isMultiple(of: 2)
    }
    for (group, _) in groups {
      group.seed(story.seed)
      group.onOffsets = { [unowned self, unowned group] in
        commits[$0] = ($1, "\($2), after \(group.forgottenGenerations) were forgotten")
      }
    }
    cluster.onCommit = { [unowned self] in check($0, $1) }
    cluster.onOffsets = { [unowned self] in check($0, $1) }
  }

  func run() -> Outcome {
    for number in places.indices {
      simulator.schedule(after: Int64(number) * 100_000) { [self] in start(number) }
    }
    for arrival in story.arrivals {
      simulator.schedule(at: arrival.milliseconds * 1_000) { [self] in
        if let (isCommitted, milliseconds) = arrival.transaction {
          cluster.append(
            arrival.record,
            to: arrival.partition,
            isCommitted: isCommitted,
            after: milliseconds * 1_000
          )
        } else {
          cluster.append(arrival.record, to: arrival.partition)
        }
      }
    }
    for incident in story.incidents {
      simulator.schedule(at: incident.milliseconds * 1_000) { [self] in
        simulator.tell("* \(incident.fault)")
        cause(incident.fault)
      }
    }
    var failure = pass(until: story.milliseconds) { false }
    heal()
    let healed = simulator.milliseconds
    if failure == nil { failure = pass(until: healed + Self.patience) { self.isCaughtUp } }
    if failure == nil, !isCaughtUp {
      failure =
        "not caught up after \(Self.patience / 1_000) s: \(lag + sharing.complaints(about: observation.feeds))"
    }
    let caughtUp = simulator.milliseconds
    // No offsets say that contents are shown, and feeds may show the last ones by chance before they are read.
    if failure == nil, topics.contents != nil {
      failure = pass(until: caughtUp + Self.contentsPatience) { false }
    }
    if failure == nil { failure = stopAll() }
    if failure == nil { failure = compare() }
    var outcome = Outcome(failure: failure)
    outcome.catchUpMilliseconds = caughtUp - healed
    outcome.faults = faults + network.faultCount
    outcome.requests = network.requestCount
    outcome.events = simulator.eventCount
    outcome.changesets = observation.claims.count
    outcome.observation = observation
    for member in members {
      outcome.restored[member.process.name] = Restored(
        records: member.status.statistics.restore.records,
        warm: member.standby?.status.warmTakeovers ?? 0,
        cold: member.standby?.status.coldTakeovers ?? 0
      )
    }
    for place in places { place.member?.process.kill() }
    simulator.run(until: simulator.now + 1_000_000)
    cluster.end()
    simulator.end()
    return outcome
  }

  // MARK: What happens

  private func start(_ number: Int) {
    if isStopping || places[number].isRunning { return }
    places[number].starts += 1
    let member = SimulatedMember(number, start: places[number].starts, story, network, identity)
    places[number].member = member
    members.append(member)
  }

  private func die(_ process: SimulatedProcess) {
    guard let number = places.firstIndex(where: { $0.member?.process === process }) else { return }
    simulator.tell("* \(process.name) is killed")
    faults += 1
    process.kill()
    simulator.schedule(after: 200_000) { [self] in start(number) }
  }

  private func cause(_ fault: Fault) {
    if hasHealed { return }
    switch fault {
    case .kill(let number, let pause):
      guard let member = places[number].member, member.isRunning else { return }
      member.process.kill()
      simulator.schedule(after: pause * 1_000) { [self] in start(number) }
    case .stop(let number, let pause):
      guard let member = places[number].member, member.isRunning else { return }
      member.stop.request()
      simulator.schedule(after: pause * 1_000) { [self] in start(number) }
    case .pause(let number, let milliseconds):
      places[number].member?.process.pause(until: simulator.now + milliseconds * 1_000)
    case .expire(let place):
      let members = groups.reversed().flatMap { group, _ in group.memberIDs.map { (group, $0) } }
      if members.indices.contains(place) { members[place].0.expire(members[place].1) }
    case .brokerDies(let broker, let milliseconds):
      cluster.stop(broker: broker)
      simulator.schedule(after: milliseconds * 1_000) { [self] in cluster.start(broker: broker) }
    case .groupMoves: for (group, _) in groups { group.moveAway() }
    case .transactionsMove: cluster.transactions.moveAway()
    case .leaderMoves(let topic, let partition, let milliseconds):
      cluster.moveLeader(
        of: TopicPartition(topic: topic, partition: partition),
        staleFor: milliseconds * 1_000
      )
    case .request(let kind, let fate): return network.arm(kind, fate)
    case .seeksFail(let count): cluster.seekFailures += count
    case .contentsGrow:
      cluster.grow(Setting.contentsTopic)
      // Members look for that every few seconds.
      simulator.schedule(after: 5_000_000) { [self] in
        let metadata = cluster.metadata(topics.distinct)
        for place in places { _ = place.member?.status.changeTopics { $0.note(metadata) } }
      }
    case .compaction:
      observe()
      for log in cluster.topics[topics.changesets] ?? [] { log.compact(keepingTombstones: true) }
      // The records of ingest are compared as a whole.
      let contents = story.setting.ingesters > 0 ? nil : cluster.topics[Setting.contentsTopic]
      for log in contents ?? [] where !cluster.hasFormerLeader(log.partition) {
        log.compact(keepingTombstones: true)
      }
    }
    faults += 1
  }

  /// Everything is as it should be again.
  private func heal() {
    hasHealed = true
    simulator.tell("* nothing more happens")
    network.disarm()
    cluster.seekFailures = 0
    for broker in cluster.brokers { cluster.start(broker: broker.number) }
  }

  // MARK: What is looked at meanwhile

  /// Lets time pass, and looks at what is published.
  ///
  /// - Returns: what was wrong.
  private func pass(until milliseconds: Int64, or isDone: () -> Bool) -> String? {
    while simulator.milliseconds < milliseconds, !isDone() {
      simulator.run(until: min(milliseconds * 1_000, simulator.now + 100_000))
      observe()
      if let violation = (violations + observation.violations + sharing.violations).first { return violation }
      for (number, place) in places.enumerated() {
        if case .failure(let error)? = place.member?.end {
          guard isExpected(error) else { return "a daemon has ended: \(error)" }
          start(number)
        }
        if hasHealed, !isStopping { start(number) }
      }
    }
    return nil
  }

  /// A member with a name may be shut out by a request of its own that comes twice, and is then started again like one that
  /// has crashed.
  private func isExpected(_ error: any Error) -> Bool {
    story.setting.isStatic && "\(error)".contains(KafkaErrorCode.fencedInstance.name)
  }

  private func observe() {
    if let contents = topics.contents {
      for record in news(contents) { sharing.take(content: record) }
      for record in news(topics.items) { sharing.take(event: record) }
    }
    for record in news(topics.changesets) + news(topics.rejected) {
      let key = sharing.key(of: record, topics)
      let before = key.flatMap { observation.feeds[$0] }
      observation.take(record, changesets: topics.changesets)
      if let key { sharing.check(record, before: before, after: observation.feeds[key], key) }
    }
  }

  /// The records of a topic that were committed since it was last looked at.
  private func news(_ topic: String) -> [TopicRecord] {
    (cluster.topics[topic] ?? []).flatMap { log in
      let begin = read[log.partition] ?? 0
      let (records, next) = log.read(from: begin, below: .max, .readCommitted, most: .max)
      read[log.partition] = next
      return records.map { TopicRecord(log.partition, $0.offset, $0.record) }
    }
  }

  /// A transaction is committed: nobody else may have written to its partitions in the same generation.
  private func check(_ producer: ProducerKey, _ partitions: Set<TopicPartition>) {
    guard let (member, generation) = commits.removeValue(forKey: producer) else {
      // Late requests of a transaction that has ended may begin and commit another one, which is empty.
      if !partitions.isEmpty { violations.append("records were committed without offsets") }
      return
    }
    if story.setting.isStatic { return }
    for partition in partitions where partition.topic == topics.changesets {
      let place = "partition \(partition.partition) in generation \(generation)"
      let owner = owners[place] ?? member
      owners[place] = owner
      if owner != member { violations.append("\(owner) and \(member) both write to \(place)") }
    }
  }

  /// Checks committed offsets: they never go back, and never exceed the end.
  private func check(_ group: GroupCoordinator, _ offsets: [TopicPartition: CommittedOffset]) {
    for (partition, offset) in offsets {
      let before = group.offsets[partition]?.offset ?? 0
      let end = cluster.log(partition)?.high ?? 0
      if offset.offset < before || offset.offset > end {
        violations.append(
          "\(partition) is committed to \(offset.offset), after \(before), and ends at \(end)"
        )
      }
    }
  }

  // MARK: The end

  private var lag: [String] {
    groups.flatMap { group, inputs in
      inputs.flatMap { cluster.topics[$0] ?? [] }.compactMap { log in
        let committed = group.offsets[log.partition]?.offset ?? 0
        return committed < log.high ? "\(log.partition) is committed to \(committed) of \(log.high)" : nil
      }
    }
  }

  private var isCaughtUp: Bool {
    lag.isEmpty && hasEnded && sharing.complaints(about: observation.feeds).isEmpty
      && cluster.topics.values.joined().allSatisfy { $0.lastStableOffset == $0.high }
  }

  /// Whether everything is deleted that ends during the story.
  private var hasEnded: Bool {
    observation.feeds.allSatisfy { key, feed in
      !key.hasEnds || feed.feed.itemIDs.allSatisfy { $0.first != UInt8(ascii: "e") }
    }
  }

  private func stopAll() -> String? {
    let published = observation.records
    isStopping = true
    for place in places { place.member?.stop.request() }
    if let failure = pass(until: simulator.milliseconds + 60_000, or: { places.allSatisfy { !$0.isRunning } })
    {
      return failure
    }
    guard places.allSatisfy({ !$0.isRunning }) else { return "a daemon does not stop" }
    // Items that end at the last moment are published by a transaction whose offsets come later.
    let end = simulator.milliseconds + 60_000
    if let failure = pass(until: end, or: { !cluster.group().hasPendingOffsets }) { return failure }
    // An item may end meanwhile, and contents may pass through values between two that are the same.
    let changesAlone = topics.contents != nil || observation.feeds.keys.contains(where: \.hasEnds)
    return observation.records == published || changesAlone
      ? nil : "stopping published something, although all input was committed"
  }

  /// All committed records of topics, each partition in its order.
  private func contents(_ topics: [String]) -> [TopicRecord] {
    topics.flatMap { cluster.topics[$0] ?? [] }.flatMap { log in
      log.read(from: 0, below: .max, .readCommitted, most: .max).records.map {
        TopicRecord(log.partition, $0.offset, $0.record)
      }
    }
  }

  /// What is wrong with the records of the rows: each owes its records once, or one copy, and all together owe what a query gives.
  private func rowComplaints(_ written: [TopicRecord], _ debts: RowDebts) -> [String] {
    let complaints = debts.complaints(about: written)
    // Of a story that was shortened, the tables are not known.
    guard complaints.isEmpty, story.query.arrivals == story.arrivals.count else { return complaints }
    let found = FeedContents(observation.feeds.mapValues(\.feed)).sections
    return found == story.query.feeds ? [] : ["feeds are \(found), and a query gives \(story.query.feeds)"]
  }

  /// Compares what was published with the oracle.
  private func compare() -> String? {
    observe()
    let shared = topics.contents.map { contents([$0]) } ?? []
    var oracle = InputOracle(contents(groups[0].inputs), contents: shared, contentsTopic: topics.contents)
    var complaints: [String] = []
    if story.setting.ingesters > 0 {
      let debts = RowDebts(contents(groups[1].inputs), story.setting.configuration.ingest)
      oracle.rejected.merge(debts.rejected) { $1 }
      complaints = rowComplaints(contents([topics.items, Setting.contentsTopic]), debts)
    }
    complaints += oracle.complaints(about: observation)
    complaints += sharing.complaints(about: observation.feeds) + sharing.violations
    complaints += lateComplaints(oracle)
    complaints += committedEndComplaints()
    complaints += guardComplaints(oracle)
    return complaints.isEmpty
      ? nil : "\(complaints.count) complaints: \(complaints.prefix(5).joined(separator: "\n"))"
  }

  /// The ends of changesets partitions that are committed with offsets: neither behind the true end, nor before a published
  /// record. A broker that no longer leads may name any end in between, and nothing is missed.
  private func committedEndComplaints() -> [String] {
    let byPartition = Dictionary(grouping: cluster.group().offsets) { $0.key.partition }
    return (cluster.topics[topics.changesets] ?? []).compactMap { log in
      let offsets = byPartition[log.partition.partition] ?? []
      let committed = offsets.compactMap { CommitMetadata($0.value.metadata).changesetsEnd }.max() ?? 0
      let last = log.read(from: 0, below: .max, .readCommitted, most: .max).records.last?.offset ?? -1
      if committed > last, committed <= log.high { return nil }
      return """
        \(log.partition) is said to end at \(committed); its last record is \(last), and it ends at \(log.high)
        """
    }
  }

  /// Partitions with an ordered or bounded section that a build which would lose its order or bound would serve.
  private func guardComplaints(_ oracle: InputOracle) -> [String] {
    let ordered = oracle.feeds.filter { key, feed in
      key.hasEnds || feed.sections.contains { $0.order != nil || $0.keep != nil }
    }
    return Set(ordered.keys.map { Int32($0.partition) }).sorted().compactMap { partition in
      let committed = cluster.group().offsets.filter { $0.key.partition == partition }.values
      return committed.contains { $0.metadata.hasPrefix("changesets=\(Int64.max) end") }
        ? nil : "partition \(partition) has ordered sections, and earlier builds would serve it"
    }
  }

  /// What somebody finds who begins to follow now, when what was cleaned away is missing.
  private func lateComplaints(_ oracle: InputOracle) -> [String] {
    var joiner = LateJoiner()
    do {
      for log in cluster.topics[topics.changesets] ?? [] {
        log.compact(keepingTombstones: true)
        for (offset, record) in log.read(from: 0, below: .max, .readCommitted, most: .max).records {
          try joiner.take(TopicRecord(log.partition, offset, record))
        }
      }
      try joiner.finish()
    } catch {
      return ["late joiner: \(error)"]
    }
    return oracle.complaints(about: joiner.feeds.mapValues(\.feed)).map { "late joiner: \($0)" }
  }
}

extension OracleFeedKey {
  fileprivate var hasEnds: Bool { id.starts(with: Story.ending.utf8) }
}

extension TopicRecord {
  init(_ partition: TopicPartition, _ offset: Int64, _ record: SimulatedRecord) {
    self.init(
      topic: partition.topic,
      partition: partition.partition,
      offset: offset,
      timestamp: record.timestamp,
      key: record.key,
      value: record.value,
      headers: record.headers
    )
  }
}
