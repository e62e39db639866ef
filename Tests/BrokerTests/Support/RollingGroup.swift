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

  /// Waits until every member has restored a partition, and something more is published to each.
  func waitForRecords() async throws {
    let members = members
    try await run.wait("partitions of \(members.map(\.name))") { _ in
      members.allSatisfy { !$0.restorations.isEmpty }
    }
    try await run.waitForRecordsInAllPartitions()
  }

  private func start(_ build: Build, in place: Int) throws -> Member {
    try run.start(isStatic ? ["kafka.group.instance.id": "place-\(place)"] : [:], build: build)
  }
}
