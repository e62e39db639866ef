import Kafka
import Testing

@testable import FeedStatus

@Suite struct ClientTotalsTests {
  private static func statistics(
    errors: Int,
    trips: Int = 0,
    inFlight: Int = 0,
    broker: Int32 = 1
  ) -> ClientStatistics {
    var statistics = ClientStatistics()
    var connection = BrokerStatistics()
    connection.number = broker
    connection.failedSends = errors
    connection.requestsInFlight = inFlight
    connection.roundTrips.count = trips
    connection.roundTrips.sum = 2_000 * trips
    connection.roundTrips.percentile99 = 5_000
    statistics.brokers = [connection]
    statistics.queuedOperations = 3
    return statistics
  }

  @Test func `totals go on growing when a client takes the place of another`() {
    var statistics = ClientTotals()
    statistics.update(Self.statistics(errors: 5, trips: 10, inFlight: 4))
    statistics.update(Self.statistics(errors: 7, trips: 0))
    statistics.replace()
    #expect(statistics.brokers[1]?.requestsInFlight == 0)
    #expect(statistics.queuedOperations == 0)
    statistics.update(Self.statistics(errors: 2, trips: 30))
    #expect(statistics.brokers[1]?.errors == 9)
    #expect(statistics.brokers[1]?.roundTrips.count == 40)
    #expect(statistics.brokers[1]?.roundTrips.sum == 80_000)
    #expect(statistics.brokers[1]?.roundTrips.percentile99 == 5_000)
  }

  @Test func `two connections to a broker count together, and a count that shrinks is not taken back`() {
    var statistics = ClientTotals()
    var both = Self.statistics(errors: 1)
    both.brokers += Self.statistics(errors: 2).brokers
    statistics.update(both)
    #expect(statistics.brokers[1]?.errors == 3)
    statistics.update(Self.statistics(errors: 1))
    statistics.update(Self.statistics(errors: 2))
    #expect(statistics.brokers[1]?.errors == 4)
  }

  @Test func `workers' statistics add up, and of quantiles the worse counts`() {
    var one = ClientTotals()
    one.update(Self.statistics(errors: 1, trips: 1, inFlight: 1))
    var other = ClientTotals()
    other.update(Self.statistics(errors: 2, trips: 1, inFlight: 2))
    other.update(Self.statistics(errors: 2, inFlight: 3, broker: 2))
    one.add(other)
    #expect(one.brokers[1]?.errors == 3)
    #expect(one.brokers[2]?.requestsInFlight == 3)
    #expect(one.brokers[1]?.roundTrips.percentile99 == 5_000)
    #expect(one.queuedOperations == 6)
  }
}
