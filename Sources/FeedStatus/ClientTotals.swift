package import Kafka

/// The statistics of a worker's consumer or producer, summed over successive clients.
package struct ClientTotals: Sendable {
  package private(set) var queuedOperations = 0
  package private(set) var queuedMessages = 0
  package private(set) var queuedBytes = 0
  /// By broker. Totals also grow when clients are replaced; quantiles are of the last interval with round trips.
  package private(set) var brokers: [Int32: BrokerStatistics] = [:]
  /// The current client's last counters, by broker.
  private var last: [Int32: BrokerStatistics] = [:]

  /// The maximum number of brokers: otherwise, changing broker ids would accumulate.
  private static let mostBrokers = 1_000

  /// Starts a new client, which counts from 0.
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
    // A coordinator has a separate connection to its broker.
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

  /// Adds another connection to the broker, or the statistics of another worker's client.
  fileprivate mutating func add(_ other: BrokerStatistics) {
    queuedRequests += other.queuedRequests
    requestsInFlight += other.requestsInFlight
    for total in Self.totals { self[keyPath: total] += other[keyPath: total] }
    // Quantiles cannot be added; the worse one is more useful.
    roundTrips.median = max(roundTrips.median, other.roundTrips.median)
    roundTrips.percentile99 = max(roundTrips.percentile99, other.roundTrips.percentile99)
  }

  /// Advances to a client's current counters.
  fileprivate mutating func advance(to now: BrokerStatistics, since before: BrokerStatistics) {
    queuedRequests = now.queuedRequests
    requestsInFlight = now.requestsInFlight
    var before = before
    // Round trips count only within the interval.
    before.roundTrips = BrokerStatistics().roundTrips
    // A connection that disappears, as when a coordinator moves, takes its count with it.
    for total in Self.totals { self[keyPath: total] += max(0, now[keyPath: total] - before[keyPath: total]) }
    guard now.roundTrips.count > 0 else { return }
    roundTrips.median = now.roundTrips.median
    roundTrips.percentile99 = now.roundTrips.percentile99
  }
}

package enum ClientKind: String, CaseIterable, Sendable {
  case consumer, producer
}
