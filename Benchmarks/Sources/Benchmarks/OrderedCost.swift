import Glibc
import Workloads

/// What one changed score costs in ordered lists of very different sizes, beside a sorted set of Redis of the same size.
enum OrderedCost {
  private static let sizes = [1_000, 10_000, 100_000, 1_000_000]
  private static let updatesPerWindow = 100
  private static let windows = 500
  private static let warmUpWindows = 100

  static func run(redis: String?) async {
    var table = MarkdownTable("items", "FeedStore", "Redis", "FeedStore to Redis", "against 1,000 items")
    var first: Double?
    for size in sizes {
      let own = await measure(size)
      let other = redis.map { measureRedis($0, size) }
      table.add(
        Format.grouped(size),
        Format.decimal(own) + " µs",
        other.map { Format.decimal($0) + " µs" } ?? "-",
        other.map { Format.decimal(own / $0) } ?? "-",
        Format.decimal(own / (first ?? own)) + "×"
      )
      first = first ?? own
    }
    print(
      """
      ### A score in an ordered list

      Processor time of one changed score. FeedStore: an `item.patch` from JSON, and its entries in a changeset; \
      \(updatesPerWindow) in a window, items and scores at random. Redis: `ZREVRANK`, `ZADD` and `ZREVRANK` in a \
      sorted set, pipelined.

      """
    )
    print(table.text)
    if redis == nil { print("Redis was not measured: there is no redis-server in PATH.\n") }
  }

  private static func score(_ random: inout RandomNumbers) -> Int { random.below(1_000_000_000) }

  /// Microseconds of the processor for an update.
  private static func measure(_ size: Int) async -> Double {
    var random = RandomNumbers(seed: UInt64(size))
    var store = await PublishingStore.withOrderedFeed(itemCount: size) { score(&random) }
    var nanoseconds: UInt64 = 0
    for window in 0..<warmUpWindows + windows {
      let records = (0..<updatesPerWindow).map { _ in
        let id = SampleData.id(random.below(size))
        return ("feed", #"{"op":"item.patch","item":"\#(id)","data":{"score":\#(score(&random))}}"#)
      }
      let list = store.makeList(records)
      // All on one thread, which may be another after each await.
      let started = processNanoseconds()
      await store.publish(list)
      if window >= warmUpWindows { nanoseconds += processNanoseconds() - started }
    }
    return Double(nanoseconds) / Double(windows * updatesPerWindow) / 1000
  }

  private static func processNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  // MARK: Redis

  /// Microseconds of Redis' processor time for an update.
  private static func measureRedis(_ path: String, _ size: Int) -> Double {
    let socket = SampleFile.path("sock")
    let server = RunningProcess(
      path,
      ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--logfile", ""]
    )
    _ = server.waitForLine(containing: "ready to accept connections")
    let connection = RedisConnection(socket)
    var random = RandomNumbers(seed: UInt64(size))
    for start in stride(from: 0, to: size, by: updatesPerWindow) {
      let numbers = start..<min(size, start + updatesPerWindow)
      connection.send(numbers.map { ["ZADD", "board", "\(score(&random))", SampleData.id($0)] })
    }
    var started: UInt64 = 0
    for window in 0..<warmUpWindows + windows {
      if window == warmUpWindows { started = server.processorNanoseconds }
      connection.send(
        (0..<updatesPerWindow).flatMap { _ in
          let id = SampleData.id(random.below(size))
          let rank = ["ZREVRANK", "board", id]
          return [rank, ["ZADD", "board", "\(score(&random))", id], rank]
        }
      )
    }
    let nanoseconds = server.processorNanoseconds - started
    _ = server.stop()
    unlink(socket)
    return Double(nanoseconds) / Double(windows * updatesPerWindow) / 1000
  }
}

/// Sends commands to Redis, whose answers are all integers.
private final class RedisConnection {
  private let descriptor: Int32
  private var answers = [UInt8](repeating: 0, count: 1 << 16)

  init(_ path: String) {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard result == 0 else { BenchmarksCommand.fail("cannot connect to redis-server") }
  }

  deinit { close(descriptor) }

  /// Sends commands at once, and waits for all answers.
  func send(_ commands: [[String]]) {
    let text = commands.map { words in
      "*\(words.count)\r\n" + words.map { "$\($0.utf8.count)\r\n\($0)\r\n" }.joined()
    }.joined()
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { BenchmarksCommand.fail("redis-server has closed the connection") }
      rest = rest.dropFirst(count)
    }
    var missing = commands.count
    while missing > 0 {
      let count = read(descriptor, &answers, answers.count)
      guard count > 0 else { BenchmarksCommand.fail("redis-server has closed the connection") }
      guard !answers[..<count].contains(UInt8(ascii: "-")) else {
        BenchmarksCommand.fail("redis-server says " + String(decoding: answers[..<count], as: UTF8.self))
      }
      missing -= answers[..<count].count { $0 == UInt8(ascii: "\n") }
    }
  }
}
