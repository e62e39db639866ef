import ChangesetTestSupport
import Feed
import FeedConfiguration
import Oracle
import Testing

@testable import FeedClient
@testable import FeedHTTP
@testable import HTTP

/// The states of streams' clients, compared with plain slices of the feeds at the same revisions.
struct StreamAgreementTests {
  private static var limits: HTTPOptions {
    var limits = HTTPOptions()
    limits.maxHistoryBytes = 20_000
    return limits
  }
  @Test(arguments: RandomCases.seeds(1...30))
  func `at each revision that a client has, it has the slice of the feed`(seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    let topic = StreamedTopic(seed: seed, Self.limits)
    var clients: [StreamedClient] = (0..<5).map { _ in StreamedClient(topic) }
    do {
      for step in 0..<250 {
        try await topic.produce(random.below(4), &random)
        topic.read(random.below(8), loses: random.below(150) == 0)
        topic.deliver(random.below(14))
        if random.chance(30) { topic.streams.look() }
        if random.chance(50) { _ = topic.streams.sendUpToDate() }
        if random.chance(2) { topic.assign([[0], [1], [0, 1]][random.below(3)]) }
        if random.below(200) == 0 { topic.fail() }
        for number in clients.indices {
          if random.chance(70) { topic.sendStates() }
          try clients[number].act(&random)
          if random.chance(60) { try clients[number].read(upTo: [100, 700, 100_000][random.below(3)]) }
        }
        if step % 50 == 49 { try await Self.finish(topic, &clients, seed) }
      }
      let changes = clients.reduce(0) { $0 + $1.windowChanges }
      #expect(changes > 20, "seed \(seed) tests too little")
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  /// Waits until everything has arrived, and compares.
  private static func finish(
    _ topic: StreamedTopic,
    _ clients: inout [StreamedClient],
    _ seed: UInt64
  ) async throws {
    topic.assign([0, 1])
    try await topic.reload()
    topic.read(.max)
    for _ in 0..<20 {
      topic.deliver()
      topic.streams.look()
      topic.sendStates()
      _ = topic.streams.sendUpToDate()
      for number in clients.indices { try clients[number].read(upTo: .max) }
    }
    for client in clients { try client.checkEnd() }
  }
}

/// A client of streams, with a plain model of its feeds, and replicas.
private struct StreamedClient {
  struct Failure: Error, CustomStringConvertible { let description: String }

  private struct Place {
    var window: FeedWindow?
    /// The windows that were requested later, until the stream reaches them.
    var next: [FeedWindow?] = []
    var shown: OracleFeed?
    var version: StreamedTopic.Version?
    var replicas = ReplicaPartition()
    var isUpToDate = false
  }

  private static let ids = ["0f0", "0f1", "1f0", "1f1", "0none"]
  /// The keys of its views: the id of a feed, and of some feeds also views, with their names after the id.
  private static let keys = ids + ["0f0 a", "0f0 b", "1f0 a", "0none a"]

  private let topic: StreamedTopic
  private var stream: EventStream?
  private var id: String?
  private var isOfMany = false
  /// By keys.
  private var places: [String: Place] = [:]
  /// The feeds that it may read, by its newest token.
  private var rights = AccessRights.all
  private var text: [UInt8] = []
  /// Changesets of windows that were not reloads.
  private(set) var windowChanges = 0

  init(_ topic: StreamedTopic) { self.topic = topic }

  // MARK: Requests

  /// Opens, changes or ends a stream, or does nothing.
  mutating func act(_ random: inout SplitMix64) throws {
    if stream == nil || stream?.hasEnded == true {
      text = []
      id = nil
      let isOne = random.chance(20)
      rights = isOne ? .all : Self.rights(&random)
      stream = EventStream(
        number: 0,
        queueLimit: random.chance(50) ? 1_500 : 1 << 20,
        retryMilliseconds: 3_000,
        counters: HTTPCounterStore(),
        rights: rights
      )
      if isOne { follow(&random) } else { open(&random) }
    } else if isOfMany, random.chance(6) {
      try change(&random)
    } else if random.chance(2) {
      stream?.cut()
    }
  }

  private static func rights(_ random: inout SplitMix64) -> AccessRights {
    random.chance(30) ? .all : AccessRights(read: ids.filter { _ in random.chance(60) }, write: [])
  }

  /// A stream of one feed, with the client's version.
  private mutating func follow(_ random: inout SplitMix64) {
    isOfMany = false
    let id = random.pick(["0f0", "1f0"])
    var place = places[id] ?? Place(window: window(of: id, &random))
    if !place.next.isEmpty { place = Place(window: window(of: id, &random)) }
    places = [id: place]
    guard let stream, let address = topic.address(of: id) else {
      self.stream = nil
      return
    }
    topic.streams.open(stream, request(id, place), at: address)
  }

  private mutating func open(_ random: inout SplitMix64) {
    isOfMany = true
    for (key, place) in places { if let window = place.next.last { places[key] = Place(window: window) } }
    for key in Self.keys where places[key] == nil && random.chance(50) {
      places[key] = Place(window: window(of: key, &random))
    }
    guard let stream else { return }
    topic.streams.open(stream, places.keys.sorted().map { request($0, places[$0] ?? Place()) })
  }

  private mutating func change(_ random: inout SplitMix64) throws {
    guard let id else { return }
    var added: [FeedRequest] = []
    var removed: [FeedRequest] = []
    let former = rights
    if random.chance(40) {
      // Messages on their way were allowed.
      try read(upTo: .max)
      rights = Self.rights(&random)
    }
    for key in Self.keys {
      let feed = Self.feed(key)
      // It starts again, if the stream follows it.
      if !former.mayRead(feed) || !rights.mayRead(feed), let place = places[key] {
        places[key] = Place(window: place.window)
      }
      if places[key] != nil, random.chance(20) {
        places[key] = nil
        removed.append(request(key, Place()))
      } else if random.chance(40) {
        let window = window(of: key, &random)
        // A version does not matter if the feed exists.
        added.append(request(key, Place(window: window, version: places[key]?.version)))
        if places[key] != nil, former.mayRead(feed), rights.mayRead(feed) {
          places[key]?.next.append(window)
        } else {
          places[key] = Place(window: window)
        }
      }
    }
    // Messages on their way for a feed that is removed and added again would belong to the new one.
    if !removed.isEmpty { try read(upTo: .max) }
    let change = try topic.streams.change(id, rights, removing: removed, adding: added)
    guard let change, change.removed == removed.map(\.viewID),
      Set(change.added + change.changed) == Set(added.map(\.viewID))
    else {
      throw Failure(
        description: "the stream does not follow what it was asked for: \(String(describing: change))"
      )
    }
  }

  private static func feed(_ key: String) -> String { String(key.prefix { $0 != " " }) }

  private func request(_ key: String, _ place: Place) -> FeedRequest {
    let feed = Self.feed(key)
    return FeedRequest(
      feed: ByteText(feed),
      viewName: feed == key ? nil : ByteText(String(key.dropFirst(feed.count + 1))),
      window: place.window,
      version: place.version.map { FeedVersion(epoch: $0.epoch, revision: $0.revision) }
    )
  }

  private func window(of key: String, _ random: inout SplitMix64) -> FeedWindow? {
    random.chance(20) ? nil : FeedWindow.random(of: topic.feeds[Self.feed(key)] ?? OracleFeed(), &random)
  }

  // MARK: Messages

  /// Takes messages, up to a number of bytes.
  mutating func read(upTo most: Int) throws {
    guard let stream else { return }
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: min(most, 100_000), alignment: 1)
    defer { buffer.deallocate() }
    var rest = most
    while rest > 0 {
      let count = stream.take(
        into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(rest, buffer.count)])
      )
      guard count > 0 else { break }
      text += buffer[..<count]
      rest -= count
    }
    let complete = text.indices.last { $0 > 0 && text[$0] == 10 && text[$0 - 1] == 10 }
    guard let complete else { return }
    let messages = String(decoding: text[...complete], as: UTF8.self)
    text.removeFirst(complete + 1)
    var name = ""
    for line in messages.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { name = "" }
      if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
      if line.hasPrefix("data: ") { try take(name, Array(line.utf8.dropFirst(6))) }
    }
  }

  private mutating func take(_ name: String, _ data: [UInt8]) throws {
    if name == "plan" { return }
    guard let json = try? OracleJSON.parse(data) else {
      throw Failure(description: "\(name) is not JSON: \(String(decoding: data, as: UTF8.self))")
    }
    if name == "stream" { id = json.text("stream") }
    let (feed, view) = (json.text("feed"), json.text("view"))
    let key = view.isEmpty ? feed : feed + " " + view
    guard var place = places[key] else { return }
    let before = place
    func fail(_ problem: String) -> Failure {
      Failure(
        description: """
          \(key), window \(String(describing: before.window)): \(problem), at \(String(describing: before.version))
          message: \(name) \(String(decoding: data, as: UTF8.self))
          shown: \(String(describing: before.shown))
          """
      )
    }
    guard view.isEmpty || data.starts(with: Array("{\"view\":\"\(view)\",".utf8)) else {
      throw fail("the view is not its first member")
    }
    guard rights.mayRead(feed) == (name != "forbidden") else { throw fail("the rights are others") }
    switch name {
    case "forbidden": place = Place(window: place.window)
    case "": try take(json, data, &place, fail)
    case "up-to-date":
      place.isUpToDate = true
      guard place.shown == topic.versions[json.version]?.shown(in: place.window) else {
        throw fail("it is not up to date")
      }
    case "window":
      let current = topic.versions[json.version]
      guard current?.shown(in: place.window) == place.shown, place.shown != nil else {
        throw fail("it missed something")
      }
      for total in json.last("window")?.elements ?? [] {
        let section = current?.section(total.last("section")?.string ?? [])
        guard total.number("of") == section?.items.count else { throw fail("the totals are wrong") }
      }
    case "must-refetch", "absent", "moved":
      if json.text("reason").contains("again") { place.window = place.next.removeFirst() }
      place = Place(window: place.window, next: place.next)
    default: throw fail("it is unknown")
    }
    places[key] = place
  }

  private mutating func take(
    _ json: OracleJSON,
    _ data: [UInt8],
    _ place: inout Place,
    _ fail: (String) -> Failure
  ) throws {
    let version = json.version
    let mode = json.text("mode")
    if mode != "reload", mode != "delete" {
      guard let known = place.version, known.epoch == version.epoch,
        json.number("base") == Int(known.revision)
      else {
        throw fail("it does not continue")
      }
      if place.window != nil { windowChanges += 1 }
    } else {
      place.isUpToDate = false
    }
    place.shown = try NaiveReplica.apply([json], to: place.shown)
    place.version = version
    guard place.shown == topic.versions[version]?.shown(in: place.window) else {
      throw fail(
        "something else is shown than \(String(describing: topic.versions[version]?.shown(in: place.window)))"
      )
    }
    let key = Array("\(mode == "reload" ? "k0" : "d1")/\(version.feed)".utf8)
    switch try place.replicas.apply(key, data) {
    case .applied, .removed, .skipped: break
    case let outcome: throw fail("a replica says \(outcome)")
    }
  }

  func checkEnd() throws {
    guard let stream, !stream.hasEnded else { return }
    for (key, place) in places {
      let feed = Self.feed(key)
      let expected = rights.mayRead(feed) ? topic.feeds[feed]?.shown(in: place.window) : nil
      guard place.next.isEmpty, place.shown == expected, expected == nil || place.isUpToDate else {
        throw Failure(
          description: """
            at the end, \(key), \(place), is not \(String(describing: expected)); lagging: \(stream.queuedBytes)
            """
        )
      }
    }
  }
}
