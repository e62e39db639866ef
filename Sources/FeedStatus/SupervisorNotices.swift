import FeedStore
package import Service

extension SupervisorSocket {
  /// Tells the service manager how the daemon is. Returns when the task is cancelled, after a last notice.
  ///
  /// - Parameters:
  ///   - longestSilence: milliseconds that a worker may stay away from its loop.
  ///   - updater: tells the manager of reloads as soon as it knows that the daemon is ready.
  package func report(
    _ status: DaemonStatus,
    _ stop: StopRequest,
    longestSilence: Int64,
    _ updater: ConfigurationUpdater?
  ) async {
    var notices = SupervisorNotices(watchdogMilliseconds: watchdogMilliseconds)
    // What the manager had no room for; of each kind only the newest.
    var unsent: [String] = []
    func name(_ assignment: String) -> Substring { assignment.prefix { $0 != "=" } }
    func tell(isStopping: Bool) {
      let now = MonotonicClock.milliseconds()
      let health = status.health(at: now, longestSilence: longestSilence, isStopping: isStopping)
      let text = SupervisorNotices.status(health, status.statistics)
      let assignments = notices.next(health, status: text, isStopping: isStopping, at: now)
      let names = Set(assignments.map(name))
      unsent.removeAll { names.contains(name($0)) }
      unsent += assignments
      guard !unsent.isEmpty, send(unsent) else { return }
      if unsent.contains("READY=1") { updater?.tell(self) }
      unsent = []
    }
    let pause = min(1_000, max(1, (watchdogMilliseconds ?? .max) / 2))
    repeat {
      tell(isStopping: stop.isRequested)
    } while (try? await Task.sleep(for: .milliseconds(pause))) != nil
    tell(isStopping: true)
  }
}

/// What the service manager is sent, and when: a state machine without a clock.
///
/// `READY=1` is sent once, when all is done that the daemon can do on its own; until then the manager is asked for more
/// time, as restoring may take minutes. `WATCHDOG=1` is sent as long as the daemon lives.
package struct SupervisorNotices {
  private let watchdogMilliseconds: Int64?
  private var isReady = false
  private var isStopping = false
  private var lastStatus = ""
  private var lastWatchdog: Int64?

  /// How long the manager is asked to wait from each notice on.
  private static let extensionMicroseconds = 30_000_000

  /// - Parameter watchdogMilliseconds: how often the manager wants to hear of the daemon; nil if it does not.
  package init(watchdogMilliseconds: Int64?) { self.watchdogMilliseconds = watchdogMilliseconds }

  /// What is to be sent now; empty if nothing is.
  ///
  /// - Parameters:
  ///   - now: milliseconds of the monotonic clock.
  ///   - status: a line for people.
  package mutating func next(
    _ health: DaemonHealth,
    status: String,
    isStopping: Bool,
    at now: Int64
  ) -> [String] {
    var notices: [String] = []
    if isStopping, !self.isStopping {
      self.isStopping = true
      notices.append("STOPPING=1")
    }
    if !isReady, !isStopping {
      if health.isStarted {
        isReady = true
        notices.append("READY=1")
      } else if health.isLive {
        notices.append("EXTEND_TIMEOUT_USEC=\(Self.extensionMicroseconds)")
      }
    }
    if status != lastStatus {
      lastStatus = status
      notices.append("STATUS=\(status)")
    }
    if let watchdogMilliseconds, health.isLive, lastWatchdog.map({ now - $0 >= watchdogMilliseconds }) ?? true
    {
      lastWatchdog = now
      notices.append("WATCHDOG=1")
    }
    return notices
  }

  /// A line for people, such as `systemctl status` shows.
  package static func status(_ health: DaemonHealth, _ statistics: WorkerStatistics) -> String {
    if let death = health.deaths.first { return death.detail }
    if let obstacle = health.obstacles.first, obstacle.code != "stopped" { return obstacle.detail }
    let partitions = statistics.partitions.count
    var text = "\(Quantity.count(partitions)) \(partitions == 1 ? "partition" : "partitions"), "
    text += "\(Quantity.count(statistics.content.feeds)) \(statistics.content.feeds == 1 ? "feed" : "feeds")"
    if !statistics.stopped.isEmpty { text += ", \(statistics.stopped.count) stopped" }
    let lag = statistics.inputLag.values.reduce(0, +)
    return lag > 0 ? text + ", \(Quantity.count(Int(lag))) records behind" : text
  }
}
