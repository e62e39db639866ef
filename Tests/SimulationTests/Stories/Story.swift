import FeedConfiguration
import FeedKafka
import FeedStore
import IngestTestSupport
import Kafka
import Oracle
import SimulationSupport

@testable import FeedWorker

/// Everything that is decided of a run before it begins: what is sent when, and what happens when.
struct Story: CustomStringConvertible {
  struct Arrival {
    var milliseconds: Int64
    var partition: TopicPartition
    var record: SimulatedRecord
    /// How its producer ends the transaction that it is in, and after how long; nil if it is in none.
    var transaction: (isCommitted: Bool, milliseconds: Int64)?
  }

  struct Incident {
    var milliseconds: Int64
    var fault: Fault
  }

  let seed: UInt64
  var setting: Setting
  var arrivals: [Arrival] = []
  /// What a query over the tables gives after so many arrivals.
  private(set) var query: (arrivals: Int, feeds: [String: [String: [String]]]) = (0, [:])
  var incidents: [Incident] = []
  /// When nothing more happens.
  var milliseconds: Int64

  /// A story that follows from its seed.
  init(seed: UInt64, isIngesting: Bool = false) {
    self.seed = seed
    var random = SplitMix64(seed: seed)
    setting = Setting(&random)
    // From a source of its own: the rest of the story is the same with and without.
    var standby = SplitMix64(seed: seed ^ 0x5374_616E_6462_7921)
    setting.standbyBytes = standby.pick([nil, 4_000, 1 << 30, 1 << 30])
    if isIngesting { setting.ingest(&standby) }
    milliseconds = Int64(5_000 + random.below(35_000))
    let count = 30 + random.below(120)
    addIncidents(10 + random.below(60), &random)
    addArrivals(count, &random)
    if !isIngesting, seed.isMultiple(of: 3) { addEnds(20, &standby) }
    if !isIngesting, seed % 3 == 1 { addContents() }
  }

  /// How wrong a member's clock is, in milliseconds: while there is trouble, it jumps by an hour now and then.
  func clockError(of member: Int, at time: Int64) -> Int64 {
    if time >= milliseconds { return 0 }
    var random = SplitMix64(seed: seed &+ UInt64(member) &* 1_000_003 &+ UInt64(time / 3_000) &* 7_919)
    return random.pick([0, 0, 3_600_000, -3_600_000])
  }

  /// The beginning of the ids of feeds with items that end; theirs begin with "e".
  static let ending = "ending"

  /// Items that end during the story, or for whom that is said later, and some that do not. Those of the section "t", which
  /// begin with "t", end some time after they are taken.
  private mutating func addEnds(_ count: Int, _ random: inout SplitMix64) {
    for number in 0..<count {
      let partition = random.below(Int(setting.partitions))
      let time = Int64(random.below(Int(milliseconds)))
      let end = Int64(random.below(Int(milliseconds)))
      let feed = "\(Self.ending)\(partition)"
      func item(_ id: String, _ expires: String) -> String {
        #"{"op":"item.upsert","item":"\#(id)\#(number)","section":"s","expires":\#(expires)}"#
      }
      let topic = setting.configuration.store.topics.items
      func add(_ events: [String], at time: Int64) {
        let value = #"[{"op":"section.upsert","section":"s"},\#(events.joined(separator: ","))]"#
        let record = SimulatedRecord(
          key: Array(feed.utf8),
          value: Array(value.utf8),
          timestamp: 1_795_168_800_000 + time
        )
        let place = TopicPartition(topic: topic, partition: Int32(partition))
        arrivals.append(Arrival(milliseconds: time, partition: place, record: record, transaction: nil))
      }
      let section = #"{"op":"section.upsert","section":"t","ttl":\#(1 + random.below(4_000))}"#
      add([section, #"{"op":"item.upsert","item":"t\#(random.below(5))","section":"t"}"#], at: time)
      let isKnownLater = random.chance(40)
      add([item("e", isKnownLater ? "null" : "\(end)"), item("k", #""9999-12-31T00:00:00Z""#)], at: time)
      if isKnownLater { add([item("e", "\(end)")], at: min(time + 500, milliseconds)) }
    }
    arrivals.sort { $0.milliseconds < $1.milliseconds }
  }

  /// The beginning of the ids of feeds whose items refer to contents.
  static let sharing = "sharing"

  /// Contents that change, and items that refer to them. Members of each content rise with each of its records.
  private mutating func addContents() {
    // From a source of its own: the rest of the story is the same with and without.
    var random = SplitMix64(seed: seed ^ 0x436F_6E74_656E_7473)
    setting.contentsWindowMilliseconds = random.pick([0, 100, 1_000])
    func add(_ topic: String, _ partition: Int, _ key: String, _ value: String?, at time: Int64) {
      let record = SimulatedRecord(
        key: Array(key.utf8),
        value: value.map { Array($0.utf8) },
        timestamp: 1_795_168_800_000 + time
      )
      let place = TopicPartition(topic: topic, partition: Int32(partition))
      let transaction = transaction(&random)
      arrivals.append(Arrival(milliseconds: time, partition: place, record: record, transaction: transaction))
    }
    // The last content is in a partition that is added meanwhile.
    let growth = random.chance(30) ? Int64(random.below(Int(milliseconds))) : nil
    for (number, time) in times(40, &random).enumerated() {
      let content = random.below(growth.map { $0 < time } == true ? 7 : 6)
      let partition = content == 6 ? Setting.contentsPartitions : Int32(content) % Setting.contentsPartitions
      let value = random.chance(70) ? #"{"v":\#(number)}"# : random.pick([nil, nil, "7", #"{"v":"#, ""])
      add(Setting.contentsTopic, Int(partition), "c\(content)", value, at: time)
    }
    for (number, time) in times(60, &random).enumerated() {
      let partition = random.below(Int(setting.partitions))
      let events =
        random.chance(2)
        ? [#"{"op":"feed.delete"}"#]
        : [#"{"op":"section.upsert","section":"o","order":[{"by":"/a/v"}]}"#] + [
          sharingEvent(number, &random)
        ]
      let topic = setting.configuration.store.topics.items
      add(topic, partition, "\(Self.sharing)\(partition)", "[\(events.joined(separator: ","))]", at: time)
    }
    arrivals.sort { $0.milliseconds < $1.milliseconds }
    if let growth { incidents.append(Incident(milliseconds: growth, fault: .contentsGrow)) }
    for _ in 0..<random.below(4) {
      let fault = Fault.leaderMoves(
        topic: Setting.contentsTopic,
        partition: Int32(random.below(Int(Setting.contentsPartitions))),
        staleMilliseconds: random.chance(30) ? 0 : Int64(random.below(8_000))
      )
      incidents.append(Incident(milliseconds: Int64(random.below(Int(milliseconds))), fault: fault))
    }
    incidents.sort { $0.milliseconds < $1.milliseconds }
  }

  /// An event of an item of the ordered section "o" or of "p".
  private func sharingEvent(_ number: Int, _ random: inout SplitMix64) -> String {
    let section = random.pick(["o", "o", "p"])
    let item = "\(section)\(random.below(4))"
    func refs(_ isPatch: Bool) -> String {
      let members = ["a", "b", "c"].filter { _ in random.chance(60) }.map { name in
        isPatch && random.chance(30) ? "\"\(name)\":null" : "\"\(name)\":\"c\(random.below(7))\""
      }
      return #","refs":{\#(members.joined(separator: ","))}"#
    }
    switch random.below(10) {
    case 0: return #"{"op":"item.delete","item":"\#(item)"}"#
    case 1...3:
      let data = random.chance(50) ? #","data":{"n":\#(number)}"# : ""
      return #"{"op":"item.patch","item":"\#(item)"\#(data)\#(refs(true))}"#
    default:
      let refs = random.chance(70) ? refs(false) : ""
      return
        #"{"op":"item.upsert","item":"\#(item)","section":"\#(section)","data":{"n":\#(number)}\#(refs)}"#
    }
  }

  private mutating func addArrivals(_ count: Int, _ random: inout SplitMix64) {
    var options = GeneratorOptions()
    options.partitionCount = Int(setting.partitions)
    options.badPercent = 6
    options.itemCount = 6
    options.limits = setting.configuration.store.limits
    if seed.isMultiple(of: 2) { options.addOrders() }
    // Where windows end is not known before.
    (options.hasConditions, options.hasRevisions) = (seed.isMultiple(of: 3), false)
    var generator = RecordGenerator(seed: random.next(), options: options)
    var tables = Setting.tables(seed: seed)
    for (number, time) in times(count, &random).enumerated() {
      let transaction = transaction(&random)
      let former = tables
      let isRow = setting.ingesters > 0
      let records = isRow ? rows(tables.step(number % tables.count)) : [event(generator.next())]
      // What is aborted has not happened to the table.
      if transaction?.isCommitted == false { tables = former }
      for (partition, key, value) in records {
        let record = SimulatedRecord(key: key, value: value, timestamp: 1_795_168_800_000 + time)
        arrivals.append(
          Arrival(
            milliseconds: time,
            partition: partition,
            record: record,
            transaction: transaction
          )
        )
      }
    }
    query = (arrivals.count, tables.query)
  }

  private func transaction(_ random: inout SplitMix64) -> (isCommitted: Bool, milliseconds: Int64)? {
    setting.hasInputTransactions && random.chance(50)
      ? (random.chance(80), Int64(random.below(random.chance(20) ? 4_000 : 30))) : nil
  }

  /// When something arrives: in bursts, many of which meet an incident, or what is late because of it.
  private func times(_ count: Int, _ random: inout SplitMix64) -> [Int64] {
    var times: [Int64] = []
    while times.count < count {
      let incident = random.chance(50) ? incidents.randomElement(using: &random) : nil
      let later = Int64(random.pick([0, 20, 300, random.below(4_000)]))
      var time = incident.map { $0.milliseconds + later } ?? Int64(random.below(Int(milliseconds)))
      for _ in 0...random.below(6) {
        times.append(min(time, milliseconds))
        time += Int64(random.below(80))
      }
    }
    return times.sorted()
  }

  private typealias Sent = (partition: TopicPartition, key: [UInt8]?, value: [UInt8]?)

  /// The records about a row are in one partition.
  private func rows(_ changes: [(topic: String, record: TableScript.Record)]) -> [Sent] {
    changes.map { topic, record in
      let partition = TopicPartition(topic: topic, partition: Int32(record.row) % setting.partitions)
      return (partition, record.key.map { Array($0.utf8) }, record.value.map { Array($0.utf8) })
    }
  }

  /// A feed is in one of the topics, so that it does not matter in which order they are read.
  private func event(_ record: OracleRecord) -> Sent {
    let topics = setting.configuration.store.topics
    let hash = (record.key ?? []).reduce(0) { $0 &* 31 &+ Int($1) }
    let topic = hash & 1 == 0 ? topics.items : topics.sections
    return (TopicPartition(topic: topic, partition: Int32(record.partition)), record.key, record.value)
  }

  private mutating func addIncidents(_ count: Int, _ random: inout SplitMix64) {
    // Some stories are about one kind of trouble, above all about members that come and go.
    let focus = random.chance(60) ? random.pick([0, 0, 1, 2]) : nil
    for _ in 0..<count {
      let time = Int64(random.below(Int(milliseconds)))
      let kind = focus ?? random.below(4)
      incidents.append(Incident(milliseconds: time, fault: fault(&random, kind)))
      // Trouble in the midst of a rebalance.
      guard kind == 0, random.chance(30) else { continue }
      let later = min(milliseconds, time + Int64(random.pick([20, 200, 1_000, 3_500, 9_000])))
      let more =
        random.chance(50)
        ? Fault.expire(random.below(setting.places))
        : .request(.endTransaction, .slowAnswer(Int64(random.pick([1_500, 8_000, 14_000]))))
      incidents.append(Incident(milliseconds: later, fault: more))
    }
    incidents.sort { $0.milliseconds < $1.milliseconds }
  }

  private func fault(_ random: inout SplitMix64, _ kind: Int) -> Fault {
    func pause() -> Int64 { Int64(random.pick([50, 500, 3_000, 8_000, 15_000])) }
    switch kind {
    case 0:
      switch random.below(4) {
      case 0: return .kill(member: random.below(setting.places), restartAfter: pause())
      case 1: return .stop(member: random.below(setting.places), restartAfter: pause())
      case 2:
        // Now and then for longer than a member may take between two polls.
        let milliseconds = random.chance(10) ? 40_000 : pause()
        return .pause(member: random.below(setting.places), milliseconds: milliseconds)
      default: return .expire(random.below(setting.places))
      }
    case 1:
      switch random.below(5) {
      case 0: return .brokerDies(random.below(3), milliseconds: pause())
      case 1: return .groupMoves
      case 2: return .transactionsMove
      case 3:
        let configuration = setting.configuration
        let topics = configuration.store.topics
        // Where the end of the changesets is believed to be matters most.
        let topic =
          random.chance(60)
          ? topics.changesets : random.pick(topics.distinct + configuration.ingest.topics)
        let partition = topic == topics.rejected ? 0 : random.below(Int(setting.partitions))
        return .leaderMoves(
          topic: topic,
          partition: Int32(partition),
          staleMilliseconds: random.chance(30) ? 0 : Int64(random.below(8_000))
        )
      default: return random.chance(30) ? .seeksFail(1 + random.below(2)) : .compaction
      }
    default:
      let kinds: [RequestKind] = [
        .initProducer, .addPartition, .produce, .addOffsets, .commitOffsets, .endTransaction, .endTransaction,
        .joinGroup, .syncGroup, .heartbeat, .fetchOffsets, .listOffsets, .fetch,
      ]
      let kind = random.pick(kinds)
      return .request(kind, fate(of: kind, &random))
    }
  }

  private func fate(of kind: RequestKind, _ random: inout SplitMix64) -> Fate {
    func time() -> Int64 { Int64(random.pick([20, 300, 1_500, 4_000, 12_000])) }
    switch random.below(8) {
    case 0: return .lost
    case 1: return .answerLost
    case 2: return .late(time())
    case 3: return .slowAnswer(time())
    // Kafka takes a request of a transaction that arrives in the next one for one of that: it tells them apart only with
    // a newer protocol (KIP-890, part 2) than librdkafka's.
    case 4: return random.chance(50) ? .twice(time()) : .overtaken(time())
    case 5: return .senderDies
    case 6: return .senderDiesAfter
    default:
      let codes: [KafkaErrorCode] =
        switch kind {
        case .produce, .listOffsets, .fetch: [.notLeader]
        case .initProducer, .addPartition, .addOffsets, .endTransaction:
          [.notCoordinator, .coordinatorLoading, .concurrentTransactions]
        case .fetchOffsets: [.notCoordinator, .coordinatorLoading, .unstableOffsetCommit]
        default: [.notCoordinator, .coordinatorLoading]
        }
      return .refused(random.pick(codes))
    }
  }

  var description: String {
    var lines: [(Int64, String)] = arrivals.map { arrival in
      let key = arrival.record.key.map { String(decoding: $0, as: UTF8.self).debugDescription } ?? "no key"
      let value = arrival.record.value.map { String(decoding: $0.prefix(100), as: UTF8.self) } ?? "null"
      let end = arrival.transaction.map {
        ", \($0.isCommitted ? "committed" : "aborted") after \($0.milliseconds) ms"
      }
      return (arrival.milliseconds, "\(arrival.partition) gets \(key) \(value)\(end ?? "")")
    }
    lines += incidents.map { ($0.milliseconds, "\($0.fault)") }
    lines.sort { $0.0 < $1.0 }
    let text = lines.map { "  at \($0.0) ms: \($0.1)" }.joined(separator: "\n")
    return "seed \(seed): \(setting)\n\(text)\n  at \(milliseconds) ms: nothing more happens"
  }
}

/// Something that happens to a cluster or to a daemon.
enum Fault: Equatable {
  case kill(member: Int, restartAfter: Int64)
  case stop(member: Int, restartAfter: Int64)
  case pause(member: Int, milliseconds: Int64)
  /// The group puts the member out that is at this place in its list.
  case expire(Int)
  case brokerDies(Int, milliseconds: Int64)
  case groupMoves
  case transactionsMove
  case leaderMoves(topic: String, partition: Int32, staleMilliseconds: Int64)
  case request(RequestKind, Fate)
  case seeksFail(Int)
  /// The contents topic gets another partition.
  case contentsGrow
  case compaction
}
