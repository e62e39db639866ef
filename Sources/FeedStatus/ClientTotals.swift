package import Kafka

/// What a worker's consumer or producer tells of itself, summed up over clients that took one another's place.
package struct ClientTotals: Sendable {
  package private(set) var queuedOperations = 0
  package private(set) var queuedMessages = 0
  package private(set) var queuedBytes = 0
  /// By broker. Totals grow, whatever clients come and go; the quantiles of round trips are those of the last interval in
  /// which there were some.
  package private(set) var brokers: [Int32: BrokerStatistics] = [:]
  /// What the client that is there has told before, by broker.
  private var last: [Int32: BrokerStatistics] = [:]

  /// The most brokers whose statistics are kept: without a bound, changing broker ids would add up.
  private static let mostBrokers = 1_000

  /// Another client takes the place of the one before, and counts from 0.
  package mutating func replace() {
    last = [:]
    queuedOperations = 0
    queuedMessages = 0
    queuedBytes = 0
    for number in brokers.keys {
      brokers[number]?.queuedRequests = 0
      brokers[number]?.requestsInFlight = 0
    }
  }

  package mutating func update(_ statistics: ClientStatistics) {
    queuedOperations = statistics.queuedOperations
    queuedMessages = statistics.producedMessages + statistics.fetchedMessages
    queuedBytes = statistics.producedBytes + statistics.fetchedBytes
    // A coordinator has a connection of its own to its broker.
    let connections = Dictionary(grouping: statistics.brokers, by: \.number)
    for (number, connections) in connections where brokers[number] != nil || brokers.count < Self.mostBrokers
    {
      let sum = connections.reduce(into: BrokerStatistics()) { $0.add($1) }
      brokers[number, default: BrokerStatistics()].advance(to: sum, since: last[number] ?? BrokerStatistics())
      last[number] = sum
    }
  }

  package mutating func add(_ other: ClientTotals) {
    queuedOperations += other.queuedOperations
    queuedMessages += other.queuedMessages
    queuedBytes += other.queuedBytes
    for (number, broker) in other.brokers { brokers[number, default: BrokerStatistics()].add(broker) }
  }
}

extension BrokerStatistics {
  private static let totals: [any WritableKeyPath<BrokerStatistics, Int> & Sendable] = [
    \.failedSends, \.unreadableResponses, \.timeouts, \.retries, \.disconnects, \.roundTrips.count,
    \.roundTrips.sum,
  ]

  /// Adds another connection to the broker, or what another worker's clients tell of it.
  fileprivate mutating func add(_ other: BrokerStatistics) {
    queuedRequests += other.queuedRequests
    requestsInFlight += other.requestsInFlight
    for total in Self.totals { self[keyPath: total] += other[keyPath: total] }
    // Quantiles cannot be added; the worse one says more.
    roundTrips.median = max(roundTrips.median, other.roundTrips.median)
    roundTrips.percentile99 = max(roundTrips.percentile99, other.roundTrips.percentile99)
  }

  /// Takes over what a client tells now.
  fileprivate mutating func advance(to now: BrokerStatistics, since before: BrokerStatistics) {
    queuedRequests = now.queuedRequests
    requestsInFlight = now.requestsInFlight
    var before = before
    // These are of the interval only.
    before.roundTrips = BrokerStatistics().roundTrips
    // A connection that is forgotten, as when a coordinator moves, takes its count with it.
    for total in Self.totals { self[keyPath: total] += max(0, now[keyPath: total] - before[keyPath: total]) }
    guard now.roundTrips.count > 0 else { return }
    roundTrips.median = now.roundTrips.median
    roundTrips.percentile99 = now.roundTrips.percentile99
  }
}

package enum ClientKind: String, CaseIterable, Sendable {
  case consumer, producer
}
