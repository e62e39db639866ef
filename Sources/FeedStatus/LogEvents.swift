package import Diagnostics

/// The events of the configuration, when it is read or read again.
extension LogEvent {
  package static let configUnknownVariable = LogEvent(.warning, "config.unknown-variable")
  package static let configReloaded = LogEvent(.info, "config.reloaded")
  package static let configRestartRequired = LogEvent(.warning, "config.restart-required", isCounted: false)
  package static let configReloadFailed = LogEvent(.error, "config.reload-failed", isCounted: false)
}
