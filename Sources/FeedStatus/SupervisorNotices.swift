import Diagnostics
import FeedStore
package import OperatingSystem

extension SupervisorSocket {
  /// Reports the daemon's health to the service manager, until the task is cancelled and a last notice sent.
  ///
  /// - Parameters:
  ///   - longestSilence: the maximum time between two loops of a worker, in milliseconds.
  ///   - updater: reports reloads to the manager once it knows that the daemon is ready.
  package func report(
    _ status: DaemonStatus,
    _ stop: StopRequest,
    longestSilence: Int64,
    _ updater: ConfigurationUpdater?
  ) async {
    var notices = SupervisorNotices(watchdogMilliseconds: watchdogMilliseconds)
    // Notices that the manager had no room for; only the newest of each kind.
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
      guard !unsent.isEmpty else { return }
      // Before the notice: the manager may request a reload as soon as it has it, and waits for the end of that reload.
      if unsent.contains("READY=1") { updater?.tell(self) }
      guard send(unsent) else { return }
      unsent = []
    }
    let pause = min(1_000, max(1, (watchdogMilliseconds ?? .max) / 2))
    repeat {
      tell(isStopping: stop.isRequested)
    } while (try? await Task.sleep(for: .milliseconds(pause))) != nil
    tell(isStopping: true)
  }
}

/// The notices for the service manager: a state machine without a clock.
///
/// `READY=1` is sent once, when all automatic work is done; until then the notices ask for more time, because restoring
/// may take minutes. `WATCHDOG=1` is sent as long as the daemon is alive.
struct SupervisorNotices {
  private let watchdogMilliseconds: Int64?
  private var isReady = false
  private var isStopping = false
  private var lastStatus = ""
  private var lastWatchdog: Int64?

  /// The additional time that each notice requests.
  private static let extensionMicroseconds = 30_000_000

  /// - Parameter watchdogMilliseconds: the interval at which the manager expects notices; nil for none.
  init(watchdogMilliseconds: Int64?) { self.watchdogMilliseconds = watchdogMilliseconds }

  /// The notices to send now, if any.
  ///
  /// - Parameters:
  ///   - now: milliseconds of the monotonic clock.
  ///   - status: a line for users.
  mutating func next(
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

  /// A line for users, such as in `systemctl status`.
  static func status(_ health: DaemonHealth, _ statistics: WorkerStatistics) -> String {
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
