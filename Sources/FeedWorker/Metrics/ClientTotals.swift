import Kafka

/// What a worker's consumer or producer tells of itself, summed up over clients that took one another's place.
struct ClientTotals: Sendable {
  /// To one broker. Totals grow, whatever clients come and go.
  struct Broker: Sendable {
    var queuedRequests = 0
    var requestsInFlight = 0
    var errors = 0
    var timeouts = 0
    var retries = 0
    var disconnects = 0
    var roundTrips = 0
    /// In seconds.
    var roundTripSum = 0.0
    /// Of the last interval in which there were some, in seconds.
    var roundTripMedian = 0.0
    var roundTripPercentile99 = 0.0
  }

  private(set) var queuedOperations = 0
  private(set) var queuedMessages = 0
  private(set) var queuedBytes = 0
  private(set) var brokers: [Int32: Broker] = [:]
  /// What the client that is there has told before, by broker.
  private var last: [Int32: BrokerStatistics] = [:]

  /// The most brokers whose statistics are kept: without a bound, changing broker ids would add up.
  private static let mostBrokers = 1_000

  /// Another client takes the place of the one before, and counts from 0.
  mutating func replace() {
    last = [:]
    queuedOperations = 0
    queuedMessages = 0
    queuedBytes = 0
    for number in brokers.keys {
      brokers[number]?.queuedRequests = 0
      brokers[number]?.requestsInFlight = 0
    }
  }

  mutating func update(_ statistics: ClientStatistics) {
    queuedOperations = statistics.queuedOperations
    queuedMessages = statistics.producedMessages + statistics.fetchedMessages
    queuedBytes = statistics.producedBytes + statistics.fetchedBytes
    // A coordinator has a connection of its own to its broker.
    let connections = Dictionary(grouping: statistics.brokers, by: \.number)
    for (number, connections) in connections where brokers[number] != nil || brokers.count < Self.mostBrokers
    {
      let sum = connections.reduce(BrokerStatistics()) { $0.adding($1) }
      brokers[number, default: Broker()].add(sum, since: last[number] ?? BrokerStatistics())
      last[number] = sum
    }
  }

  /// Adds those of another worker's client.
  mutating func add(_ other: ClientTotals) {
    queuedOperations += other.queuedOperations
    queuedMessages += other.queuedMessages
    queuedBytes += other.queuedBytes
    for (number, broker) in other.brokers { brokers[number, default: Broker()].add(broker) }
  }
}

extension ClientTotals.Broker {
  fileprivate mutating func add(_ now: BrokerStatistics, since before: BrokerStatistics) {
    queuedRequests = now.queuedRequests
    requestsInFlight = now.requestsInFlight
    // A connection that is forgotten, as when a coordinator moves, takes its count with it.
    errors += max(0, now.errors - before.errors)
    timeouts += max(0, now.timeouts - before.timeouts)
    retries += max(0, now.retries - before.retries)
    disconnects += max(0, now.disconnects - before.disconnects)
    // These are of the interval only.
    guard now.roundTrips.count > 0 else { return }
    roundTrips += now.roundTrips.count
    roundTripSum += Double(now.roundTrips.sum) / 1e6
    roundTripMedian = Double(now.roundTrips.median) / 1e6
    roundTripPercentile99 = Double(now.roundTrips.percentile99) / 1e6
  }

  fileprivate mutating func add(_ other: Self) {
    queuedRequests += other.queuedRequests
    requestsInFlight += other.requestsInFlight
    errors += other.errors
    timeouts += other.timeouts
    retries += other.retries
    disconnects += other.disconnects
    roundTrips += other.roundTrips
    roundTripSum += other.roundTripSum
    // Quantiles cannot be added; the worse one says more.
    roundTripMedian = max(roundTripMedian, other.roundTripMedian)
    roundTripPercentile99 = max(roundTripPercentile99, other.roundTripPercentile99)
  }
}

extension BrokerStatistics {
  /// Two connections to one broker, together.
  fileprivate func adding(_ other: BrokerStatistics) -> BrokerStatistics {
    var sum = other
    sum.queuedRequests += queuedRequests
    sum.requestsInFlight += requestsInFlight
    sum.failedSends += failedSends
    sum.unreadableResponses += unreadableResponses
    sum.timeouts += timeouts
    sum.retries += retries
    sum.disconnects += disconnects
    sum.roundTrips.count += roundTrips.count
    sum.roundTrips.sum += roundTrips.sum
    sum.roundTrips.median = max(roundTrips.median, other.roundTrips.median)
    sum.roundTrips.percentile99 = max(roundTrips.percentile99, other.roundTrips.percentile99)
    return sum
  }
}

/// Which of a worker's clients.
enum ClientKind: String, CaseIterable, Sendable {
  case consumer, producer
}
