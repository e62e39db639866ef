import ObservationSupport

/// Members of a group in numbered places, each of which can be replaced by one of another build.
struct RollingGroup {
  private let run: BrokerRun
  /// Whether the place of a member is its name in the group, so that its partitions wait for the next one.
  private let isStatic: Bool
  private var members: [Member] = []

  init(_ run: BrokerRun, isStatic: Bool) {
    self.run = run
    self.isStatic = isStatic
  }

  /// Starts a member in a place of its own.
  mutating func add(_ build: Build) throws {
    members.append(try start(build, in: members.count))
  }

  /// Ends a member, well or without warning, starts another in its place, and waits until that one has partitions and
  /// none stands still.
  mutating func replace(_ place: Int, by build: Build, isKilled: Bool = false) async throws {
    if isKilled { try await run.kill(members[place]) } else { try await run.stop(members[place]) }
    members[place] = try start(build, in: place)
    try await waitForRecords()
  }

  /// Kills a member, and the one that takes its place as well, in the middle of a transaction.
  mutating func breakOff(_ place: Int, _ build: Build) async throws {
    try await run.kill(members[place])
    // Not the first one, which may be of what the other had begun.
    members[place] = try start(build, in: place, crash: "after-offsets:20")
    try await run.waitForEnd(of: members[place])
  }

  /// Waits until every member has restored a partition, and something more is published to each.
  func waitForRecords() async throws {
    let members = members
    try await run.wait("partitions of \(members.map(\.name))") { _ in
      members.allSatisfy { !$0.restorations.isEmpty }
    }
    try await run.waitForRecordsInAllPartitions()
  }

  private func start(_ build: Build, in place: Int, crash: String? = nil) throws -> Member {
    let settings = isStatic ? ["kafka.group.instance.id": "place-\(place)"] : [:]
    return try run.start(settings, build: build, crash: crash)
  }
}
