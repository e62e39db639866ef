package import Diagnostics

/// The events of the assembled daemon.
extension LogEvent {
  package static let standbyFollowerFailed = LogEvent(.warning, "standby.follower-failed")
}
