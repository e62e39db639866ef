import Diagnostics

/// The events of the command and its process.
extension LogEvent {
  // The process starts.
  static let startupStarting = LogEvent(.info, "startup.starting")
  static let startupEmbeddedBroker = LogEvent(.warning, "startup.embedded-broker")
  static let startupCrashTest = LogEvent(.warning, "startup.crash-test")
  static let startupAddressSpaceLimited = LogEvent(.warning, "startup.address-space-limited")

  // HTTP is served.
  static let httpServing = LogEvent(.info, "http.serving")

  // The process ends.
  static let shutdownRequested = LogEvent(.info, "shutdown.requested")
  static let shutdownTimedOut = LogEvent(.error, "shutdown.timed-out")
  static let shutdownCompleted = LogEvent(.info, "shutdown.completed")
  static let shutdownFailed = LogEvent(.error, "shutdown.failed")
}
