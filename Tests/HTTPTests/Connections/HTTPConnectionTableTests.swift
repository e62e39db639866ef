import FeedTestSupport
import Testing

@testable import HTTP

/// The decisions of the connection table, with times as values.
@Suite struct HTTPConnectionTableTests {
  private static func table(_ connections: Int = 4, perAddress: Int = 3) -> HTTPConnectionTable {
    var limits = HTTPServerConfiguration()
    limits.maxConnections = connections
    limits.maxConnectionsPerAddress = perAddress
    return HTTPConnectionTable(limits, reserve: 2)
  }

  @Test func `the deadline of a head does not move as bytes arrive`() {
    var table = Self.table()
    #expect(table.open(1, from: "a", at: 5) == .admitted(evicted: nil))
    #expect(table.expired(at: 10_004) == [])
    #expect(table.expired(at: 10_005) == [1])
    table.beginAnswer(1, receivedBytes: 100, at: 9_000)
    #expect(table.expired(at: 38_999) == [])
    #expect(table.expired(at: 39_000) == [1])
  }

  @Test func `the deadline of a later head starts with its first byte`() {
    var table = Self.table()
    _ = table.open(1, from: "a", at: 0)
    table.beginAnswer(1, receivedBytes: 100, at: 0)
    table.endAnswer(1, receivedBytes: 100, at: 1_000)
    table.observe(1, receivedBytes: 100, at: 20_000)
    #expect(table.expired(at: 60_999) == [])
    #expect(table.expired(at: 61_000) == [1])
    table.observe(1, receivedBytes: 101, at: 40_000)
    table.observe(1, receivedBytes: 102, at: 49_000)
    #expect(table.expired(at: 49_999) == [])
    #expect(table.expired(at: 50_000) == [1])
    // Or from the end of the previous response, if it arrived during that.
    table.beginAnswer(1, receivedBytes: 200, at: 49_000)
    table.endAnswer(1, receivedBytes: 201, at: 50_000)
    #expect(table.expired(at: 59_999) == [])
    #expect(table.expired(at: 60_000) == [1])
  }

  @Test func `the deadline of content starts with the end of the head`() {
    var table = Self.table(1)
    _ = table.open(1, from: "a", at: 0)
    table.serve(1)
    table.beginAnswer(1, receivedBytes: 100, at: 5_000)
    table.awaitContent(1, at: 6_000)
    #expect(table.expired(at: 15_999) == [])
    #expect(table.expired(at: 16_000) == [1])
    // As long as it is incomplete, the connection makes room for another.
    var other = table
    #expect(other.open(2, from: "b", at: 7_000) == .admitted(evicted: 1))
    table.beginAnswer(1, receivedBytes: 200, at: 8_000)
    #expect(table.expired(at: 37_999) == [])
    table.endAnswer(1, receivedBytes: 200, at: 9_000)
    #expect(table.connections[1]?.phase == .idle)
  }

  @Test func `a connection that is not served yet stays in the table`() {
    var table = Self.table()
    _ = table.open(1, from: "a", at: 0)
    table.beginAnswer(1, receivedBytes: 100, at: 0)
    #expect(table.expired(at: 30_000) == [1])
    table.waitForServer(1, at: 30_000)
    #expect(table.count == 1 && table.expired(at: 59_999) == [])
    table.serve(1)
    table.waitForServer(1, at: 40_000)
    #expect(table.expired(at: 60_000) == [1])
  }

  @Test func `a new connection with a reused socket number replaces the old one`() {
    var table = Self.table(perAddress: 1)
    _ = table.open(1, from: "a", at: 0)
    table.beginAnswer(1, receivedBytes: 100, at: 0)
    #expect(table.open(1, from: "b", at: 1) == .admitted(evicted: nil))
    #expect(table.open(2, from: "a", at: 2) == .admitted(evicted: nil))
    #expect(table.count == 2)
  }

  @Test func `the deadline of a response depends on its size, and a stream has none`() {
    var table = Self.table()
    _ = table.open(1, from: "a", at: 0)
    table.beginAnswer(1, receivedBytes: 100, at: 0)
    table.send(640 << 10, to: 1)
    #expect(table.expired(at: 39_999) == [])
    #expect(table.expired(at: 40_000) == [1])
    table.beginStream(1, at: 50)
    #expect(table.expired(at: .max) == [])
    table.endStream(1, at: 100_000)
    #expect(table.expired(at: 129_999) == [])
    #expect(table.expired(at: 130_000) == [1])
  }

  @Test func `the connection that has waited longest without a head is evicted`() {
    var table = Self.table()
    for socket in 1...3 as ClosedRange<Int32> { _ = table.open(socket, from: "a", at: Int64(socket)) }
    table.beginAnswer(1, receivedBytes: 100, at: 4)
    // The address has reached its limit, although the server has not.
    #expect(table.open(4, from: "a", at: 5) == .admitted(evicted: 2))
    #expect(table.open(5, from: "b", at: 5) == .admitted(evicted: nil))
    table.close(2)
    // The server has reached its limit: any address makes room.
    #expect(table.open(6, from: "b", at: 6) == .admitted(evicted: 3))
    // A connection that has begun a head is evicted before an idle one.
    table.endAnswer(1, receivedBytes: 100, at: 6)
    #expect(table.open(7, from: "b", at: 7) == .admitted(evicted: 4))
  }

  @Test func `a connection being answered is not evicted`() {
    var table = Self.table(2, perAddress: 2)
    for socket in 1...2 as ClosedRange<Int32> {
      _ = table.open(socket, from: "a", at: 0)
      table.beginAnswer(socket, receivedBytes: 100, at: 0)
    }
    #expect(
      table.open(3, from: "a", at: 1) == .refused("2 connections from a are open, which is the maximum")
    )
    #expect(table.open(4, from: "b", at: 1) == .refused("2 connections are open, which is the maximum"))
    #expect(table.open(5, from: "b", at: 1) == .dropped)
    #expect(table.expired(at: 2_001).sorted() == [3, 4])
    table.close(3)
    #expect(table.open(6, from: "b", at: 1) == .refused("2 connections are open, which is the maximum"))
  }

  @Test func `whoever has the most connections makes room for others, but not for more than they have`() {
    var table = Self.table(7, perAddress: 5)
    for socket in 1...7 as ClosedRange<Int32> {
      _ = table.open(socket, from: socket <= 4 ? "a" : "b", at: 0)
      table.beginAnswer(socket, receivedBytes: 100, at: Int64(10 - socket))
      table.serve(socket)
    }
    // The oldest of four, then the next one.
    #expect(table.open(8, from: "c", at: 10) == .admitted(evicted: 4))
    table.close(4)
    table.beginAnswer(8, receivedBytes: 100, at: 10)
    // Three each, and one: the second from the same address takes another's place, the third would have as many.
    #expect(table.open(9, from: "c", at: 10) == .admitted(evicted: 7))
    table.close(7)
    table.beginAnswer(9, receivedBytes: 100, at: 10)
    #expect(table.open(10, from: "c", at: 10) == .refused("7 connections are open, which is the maximum"))
    table.close(10)
    // A stream is not cut off, nor a connection that libmicrohttpd has not started to serve.
    for socket in [1, 2, 3] as [Int32] { table.beginStream(socket, at: 11) }
    #expect(table.open(11, from: "e", at: 12) == .admitted(evicted: 6))
    table.close(6)
    table.beginAnswer(11, receivedBytes: 100, at: 12)
    #expect(table.open(12, from: "f", at: 12) == .refused("7 connections are open, which is the maximum"))
  }

  /// The counts equal those of a plain list. A connection being answered is evicted only for a client that has fewer.
  @Test func `random connections are counted correctly`() {
    for seed in UInt64(0)..<200 {
      var random = SeededRandom(seed)
      var table = Self.table(6, perAddress: 4)
      for step in 0..<400 {
        let now = Int64(step)
        let socket = Int32(random.next(30))
        if table.connections[socket] == nil {
          let before = table.connections
          let address = ["a", "b", "c"][random.next(3)]
          let admission = table.open(socket, from: address, at: now)
          if case .admitted(let evicted?) = admission, let connection = before[evicted] {
            let counts = Dictionary(
              before.values.filter { $0.phase != .leaving }.map { ($0.address, 1) },
              uniquingKeysWith: +
            )
            #expect(
              connection.phase.owesRequest
                || connection.isServed && counts[connection.address]! > counts[address, default: 0] + 1,
              "seed \(seed)"
            )
            table.close(evicted)
          }
        } else {
          switch random.next(7) {
          case 0:
            table.beginAnswer(socket, receivedBytes: 100, at: now)
            table.serve(socket)
          case 1: table.beginStream(socket, at: now)
          case 2: table.endAnswer(socket, receivedBytes: 100 + UInt64(random.next(2)), at: now)
          case 3: table.observe(socket, receivedBytes: 100 + UInt64(random.next(2)), at: now)
          case 4:
            table.leave(socket, at: now)
            while let excess = table.excessLeaving() { table.close(excess) }
          default: table.close(socket)
          }
        }
        let staying = table.connections.values.filter { $0.phase != .leaving }
        #expect(staying.count <= 6, "seed \(seed)")
        #expect(
          Dictionary(grouping: staying, by: \.address).values.allSatisfy { $0.count <= 4 },
          "seed \(seed)"
        )
        // The limit, and twice the reserve.
        #expect(table.count <= 10, "seed \(seed)")
      }
      for socket in table.connections.keys { table.close(socket) }
      for socket in 0..<4 as Range<Int32> {
        #expect(table.open(socket, from: "a", at: 0) == .admitted(evicted: nil), "seed \(seed)")
      }
    }
  }

  @Test func `addresses that one client can have count as one`() {
    #expect(IPAddress("192.0.2.1")?.clientGroup == "192.0.2.1")
    #expect(IPAddress("::ffff:192.0.2.1")?.clientGroup == "192.0.2.1")
    #expect(IPAddress("2001:db8:1:2:3:4:5:6")?.clientGroup == "2001:db8:1:2::/64")
    #expect(IPAddress("2001:db8:1:2:ffff::")?.clientGroup == "2001:db8:1:2::/64")
    #expect(IPAddress("::1")?.clientGroup == "::1")
  }
}
