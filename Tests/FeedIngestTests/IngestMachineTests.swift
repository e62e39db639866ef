import Foundation
import Testing

@testable import FeedIngest
@testable import FeedTransactions
@testable import Kafka

/// Every event in every state of ``IngestMachine``, and what it must not forget.
struct IngestMachineTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "IngestMachineTransitions.txt")
  private static let partitions = [0, 1].map { TopicPartition(topic: "rows", partition: $0) }

  private static func error(
    _ kind: KafkaErrorCode,
    retriable: Bool = false,
    fatal: Bool = false
  ) -> KafkaError {
    KafkaError(
      kind: kind,
      message: "could not",
      isRetriable: retriable,
      isFatal: fatal,
      requiresAbort: kind == .illegalGeneration
    )
  }

  /// Events by the names that the table has for them.
  private static let events: [(name: String, event: IngestEvent)] = {
    let first = [InputSpan(partition: partitions[0], first: 7, last: 8)]
    let input = [InputSpan(partition: partitions[0], first: 9, last: 10)]
    let again = [InputSpan(partition: partitions[0], first: 6, last: 6)]
    let end = [TopicPartitionOffset(partitions[1], offset: 9)]
    let outcomes: [(String, TransactionMachine.Outcome)] = [
      ("succeeded", .succeeded), ("wrote", .wrote(endsTransaction: false, isLast: true)),
      ("filled", .wrote(endsTransaction: true, isLast: true)),
      ("disconnected", .committedDespiteDisconnect),
      ("timed out", .failed(error(.timedOut, retriable: true))),
      ("abortable", .failed(error(.illegalGeneration))), ("fatal", .failed(error(.fenced, fatal: true))),
      ("ended by a late request", .failed(error(.invalidTransactionState))),
      ("forbidden", .failed(error(.topicAuthorizationFailed))),
      ("refused", .refused(error(.messageTooLarge))),
    ]
    return [
      ("done", .done), ("topics", .topicsFound(isStopping: false)),
      ("stopping", .topicsFound(isStopping: true)),
      ("nothing", .polled(.init())), ("first", .polled(.init(input: first))),
      ("input", .polled(.init(input: input))),
      ("end", .polled(.init(ends: end))), ("input again", .polled(.init(input: again))),
      ("much input", .polled(.init(input: input, isBehind: true))),
      ("stop", .polled(.init(isStopping: true))),
      ("assigned", .polled(.init(rebalance: Rebalance(.assigned, partitions)))),
      ("revoking", .polled(.init(rebalance: Rebalance(.revoking, [partitions[0]]), input: input))),
      ("lost", .polled(.init(rebalance: Rebalance(.lost, partitions)))),
      ("evicted", .polled(.init(rebalance: Rebalance(.lost, partitions, needsNewConsumer: true)))),
      ("positioned", .positioned([partitions[0]: 7, partitions[1]: 7])),
      ("read failed", .failed(error(.timedOut, retriable: true))),
    ] + outcomes.map { ($0.0, .called($0.1, stopDeadline: nil)) }
  }()

  private static func event(_ name: String) throws -> IngestEvent {
    try #require(events.first { $0.name == name }?.event, "there is no event \(name)")
  }

  private static let started = "topics, done, nothing, succeeded, assigned, done, nothing, positioned"
  /// After the first commit, which is not delayed.
  private static let ready = "\(started), first, succeeded, filled, succeeded, succeeded, done"
  private static let writing = "\(ready), input, succeeded, wrote"
  private static let committing = "\(ready), input, succeeded, filled, succeeded"
  /// Short ways to each state.
  private static let ways = [
    "", "stopping", "topics", "topics, done", "topics, done, nothing", "topics, done, nothing, succeeded",
    "topics, done, nothing, succeeded, assigned", "topics, done, nothing, succeeded, assigned, done, nothing",
    started, "\(started), first, succeeded, wrote", ready, "\(ready), evicted", "\(ready), end",
    "\(ready), input", "\(ready), input, timed out", "\(ready), input, succeeded", writing,
    "\(writing), revoking",
    "\(writing), lost", "\(writing), stop", "\(writing), input again", "\(writing), read failed, succeeded",
    "\(writing), read failed, succeeded, succeeded", "\(writing), read failed, succeeded, succeeded, done",
    "\(writing), read failed, succeeded, succeeded, done, succeeded", "\(ready), input, succeeded, filled",
    committing, "\(committing), succeeded", "\(committing), fatal", "\(committing), fatal, done, nothing",
    "\(committing), ended by a late request", "\(committing), disconnected, done, assigned",
  ]

  private static func machine(_ way: String) throws -> (machine: IngestMachine, action: IngestAction) {
    var (machine, action) = (IngestMachine(), IngestMachine.firstAction)
    for name in way.components(separatedBy: ", ") where !name.isEmpty {
      let event = try event(name)
      let next = machine.transition(event, at: 0)
      action = try #require(next, "\(name) on the way \(way)")
    }
    return (machine, action)
  }

  private static func text(_ machine: IngestMachine) -> String {
    switch machine.state {
    case .calling, .waiting, .preparing: "\(machine.state) \(machine.transactions.step)"
    default: "\(machine.state)"
    }
  }

  private static func text(_ action: IngestAction) -> String {
    switch action {
    case .poll(let timeout): "poll for \(timeout) ms"
    case .pollWithoutInput(let timeout): "pollWithoutInput for \(timeout) ms"
    case .call(let step): "call \(step.rawValue)"
    case .prepareProducer(let step): "prepareProducer: \(step.rawValue)"
    case .wait(let milliseconds): "wait \(milliseconds) ms"
    case .position(let partitions, let known):
      "position \(partitions.count) partitions, \(known.count) known"
    case .fail(let error): "fail, \(error.kind)"
    case .complete(let rebalance): "complete \(rebalance.kind) \(rebalance.partitions.map(\.partition))"
    case .rewind(let end, let repeated):
      "rewind" + (end == .withdrawn ? ", withdrawn" : end == nil ? "" : ", lost")
        + (repeated.map { ", \($0.partition) came twice" } ?? "")
    default: "\(action)"
    }
  }

  /// `FEEDSTORE_UPDATE_GOLDEN` rewrites the table.
  @Test func `the table of transitions is the one that was reviewed`() throws {
    var lines: [String] = []
    for way in Self.ways {
      let (machine, action) = try Self.machine(way)
      lines.append("\(Self.text(machine)): \(Self.text(action))")
      for (name, event) in Self.events {
        var changed = machine
        guard let next = changed.transition(event, at: 0) else {
          #expect(changed == machine, "\(name) changes \(Self.text(machine))")
          continue
        }
        lines.append("  \(name) -> \(Self.text(changed)): \(Self.text(next))")
      }
    }
    if ProcessInfo.processInfo.environment["FEEDSTORE_UPDATE_GOLDEN"] != nil {
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: Self.file)
    }
    let reviewed = String(decoding: try Data(contentsOf: Self.file), as: UTF8.self)
      .split(separator: "\n").map(String.init)
    for (old, new) in zip(reviewed, lines) where old != new {
      Issue.record("expected: \(old)\nfound: \(new)")
      break
    }
    #expect(reviewed.count == lines.count)
  }

  @Test func `each state is reached, and has the events of its action only`() throws {
    var states: Set<String> = []
    for way in Self.ways {
      let (machine, action) = try Self.machine(way)
      states.insert("\(machine.state)")
      for (name, event) in Self.events {
        var machine = machine
        #expect(
          (machine.transition(event, at: 0) != nil) == Self.isResult(event, of: action),
          "\(name) after \(way)"
        )
      }
    }
    #expect(states.count == 13 - 1, "\(states)")
    var (machine, action) = try Self.machine("stopping")
    #expect(action == .close)
    action = machine.handle(.done, at: 0)
    #expect(action == .end && machine.state == .ended)
    for (_, event) in Self.events { #expect(machine.transition(event, at: 0) == nil) }
  }

  private static func isResult(_ event: IngestEvent, of action: IngestAction) -> Bool {
    switch (action, event) {
    case (.findTopics, .topicsFound), (.position, .positioned), (.position, .failed), (.poll, .polled),
      (.poll, .failed), (.pollWithoutInput, .polled), (.pollWithoutInput, .failed), (.join, .done),
      (.wait, .done),
      (.confirm, .done), (.rewind, .done), (.complete, .done), (.replaceConsumer, .done), (.close, .done):
      true
    case (.prepareProducer, .called(.refused, _)): false
    case (.call(let step), .called(let outcome, _)), (.prepareProducer(let step), .called(let outcome, _)):
      outcome.fits(step)
    default: false
    }
  }

  @Test func `offsets go with the records, and count as committed once they are`() throws {
    let (partition, other) = (Self.partitions[0], Self.partitions[1])
    var (machine, _) = try Self.machine(Self.committing)
    #expect(machine.offsets == [partition: 11])
    #expect(machine.committed == [partition: 9, other: 7])
    (machine, _) = try Self.machine("\(Self.committing), succeeded, done")
    #expect(machine.offsets.isEmpty && machine.committed == [partition: 11, other: 7])
    // Markers at the end of a partition are committed, too.
    (machine, _) = try Self.machine("\(Self.ready), end")
    #expect(machine.offsets == [other: 9])
  }

  @Test(arguments: [("input", Int64(100)), ("much input", 500)])
  func `a transaction takes a window, which is longer while the input is behind`(
    _ input: String,
    _ window: Int64
  )
    throws
  {
    var (machine, _) = try Self.machine(
      "\(Self.ready), \(input), succeeded, filled, succeeded, succeeded, done"
    )
    let next = IngestEvent.polled(.init(input: [InputSpan(partition: Self.partitions[1], first: 7, last: 7)]))
    #expect(machine.handle(next, at: 40) == .call(.begin))
    #expect(machine.handle(try Self.event("succeeded"), at: 40) == .call(.write))
    let wait = Int32(min(window - 40, 100))
    #expect(machine.handle(try Self.event("wrote"), at: 40) == .poll(timeoutMilliseconds: wait))
    #expect(machine.handle(.polled(.init()), at: window - 1) == .poll(timeoutMilliseconds: 1))
    #expect(machine.handle(.polled(.init()), at: window) == .call(.addOffsets))
  }

  @Test func `after a late request has ended a transaction, the brokers' offsets do not count`() throws {
    let ended = try Self.machine("\(Self.committing), ended by a late request").machine
    #expect(ended.committed.count == 2 && ended.positions == ended.committed && !ended.isPositioned)
    let failures = [
      "fatal", "abortable, succeeded, succeeded, done, succeeded",
      // The commit has happened, so the abort is refused.
      "abortable, ended by a late request",
    ]
    for failure in failures {
      let failed = try Self.machine("\(Self.committing), \(failure)").machine
      #expect(failed.committed.isEmpty && failed.positions.isEmpty && !failed.isPositioned)
      #expect(failed.state == .rewinding)
    }
  }

  @Test func `a batch that is written in part because a schema is missing is not written again`() throws {
    var (machine, _) = try Self.machine("\(Self.ready), input, succeeded")
    let error = KafkaError.make(.application, "read a schema", requiresAbort: true)
    var action = machine.transition(.called(.failed(error), stopDeadline: nil), at: 0)
    #expect(action == .call(.abort))
    for name in ["succeeded", "succeeded", "done", "succeeded"] {
      action = machine.transition(try Self.event(name), at: 0)
    }
    #expect(action == .rewind(.withdrawn, repeated: nil) && machine.positions.isEmpty)
  }

  @Test func `nothing is known any more of partitions that go`() throws {
    let (gone, kept) = (Self.partitions[0], Self.partitions[1])
    var machine = try Self.machine("\(Self.ready), revoking, done").machine
    #expect(machine.held == [kept] && machine.committed == [kept: 7] && machine.positions == [kept: 7])
    #expect(machine.handle(.polled(.init()), at: 0) == .position([kept], known: [kept: 7]))
    machine = try Self.machine("\(Self.ready), revoking, done, assigned, done").machine
    #expect(machine.held == [gone, kept] && machine.committed[gone] == nil)
    machine = try Self.machine("\(Self.ready), evicted, done").machine
    #expect(machine.held.isEmpty && machine.committed.isEmpty && machine.rebalance == nil)
  }

  @Test func `partitions that are revoked are kept for ten seconds at most`() throws {
    var (machine, _) = try Self.machine("\(Self.writing), revoking")
    let late = try Self.event("timed out")
    #expect(machine.transition(late, at: 9_999) == .wait(milliseconds: 10))
    #expect(machine.transition(.done, at: 9_999) == .call(.addOffsets))
    #expect(machine.transition(late, at: 10_000) == .call(.abort))
    #expect(machine.transition(late, at: 10_000) != .wait(milliseconds: 10))
  }

  @Test func `at a stop, a commit that fails is given up at its deadline`() throws {
    var (machine, _) = try Self.machine("\(Self.writing), stop")
    let late = IngestEvent.called(.failed(Self.error(.timedOut, retriable: true)), stopDeadline: 50)
    #expect(machine.transition(late, at: 49) == .wait(milliseconds: 10))
    #expect(machine.transition(.done, at: 49) == .call(.addOffsets))
    #expect(machine.transition(late, at: 50) == .call(.abort))
    _ = machine.transition(late, at: 50)
    #expect(machine.state == .rewinding && machine.transition(.done, at: 50) == .close)
  }

  @Test func `an event that is not one of the state's ends the process`() async {
    await #expect(processExitsWith: .failure) {
      var machine = IngestMachine()
      _ = machine.handle(.done, at: 0)
    }
  }
}
