package import Service

/// Tells the service manager how the daemon is, for as long as the daemon runs.
package struct Supervision {
  let socket: SupervisorSocket
  let status: DaemonStatus
  let stop: StopRequest
  /// Milliseconds that a worker may stay away from its loop.
  let longestSilence: Int64
  /// Tells the manager of reloads as soon as it knows that the daemon is ready.
  let reload: ConfigurationReload?

  package init(
    socket: SupervisorSocket,
    status: DaemonStatus,
    stop: StopRequest,
    longestSilence: Int64,
    reload: ConfigurationReload?
  ) {
    self.socket = socket
    self.status = status
    self.stop = stop
    self.longestSilence = longestSilence
    self.reload = reload
  }

  private static let lookMilliseconds: Int64 = 1_000

  /// Returns when the task is cancelled, after a last notice.
  package func run() async {
    var notices = SupervisorNotices(watchdogMilliseconds: socket.watchdogMilliseconds)
    // What the manager had no room for; of each kind only the newest.
    var unsent: [String] = []
    let pause = min(Self.lookMilliseconds, max(1, (socket.watchdogMilliseconds ?? .max) / 2))
    repeat {
      tell(&notices, &unsent, isStopping: stop.isRequested)
    } while (try? await Task.sleep(for: .milliseconds(pause))) != nil
    tell(&notices, &unsent, isStopping: true)
  }

  private func tell(_ notices: inout SupervisorNotices, _ unsent: inout [String], isStopping: Bool) {
    let now = MonotonicClock.milliseconds()
    let health = status.health(at: now, longestSilence: longestSilence, isStopping: isStopping)
    let text = SupervisorNotices.status(health, status.figures)
    let assignments = notices.next(health, status: text, isStopping: isStopping, at: now)
    let names = Set(assignments.map(Self.name))
    unsent.removeAll { names.contains(Self.name($0)) }
    unsent += assignments
    guard !unsent.isEmpty, socket.send(unsent) else { return }
    if unsent.contains("READY=1") { reload?.tell(socket) }
    unsent = []
  }

  private static func name(_ assignment: String) -> Substring { assignment.prefix { $0 != "=" } }
}
