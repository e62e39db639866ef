package import Diagnostics

/// The events of the daemon's HTTP server.
extension LogEvent {
  package static let httpKeysLeftOut = LogEvent(.warning, "http.keys-left-out", isCounted: false)
  package static let httpKeysFetched = LogEvent(.info, "http.keys-fetched")
  package static let httpKeysNotFetched = LogEvent(.warning, "http.keys-not-fetched")
  package static let httpFollowerFailed = LogEvent(.error, "http.follower-failed")
  package static let httpInstancesUnknown = LogEvent(.warning, "http.instances-unknown")
}
