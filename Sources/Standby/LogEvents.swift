package import Diagnostics

/// The events of followed partitions that have no worker here.
extension LogEvent {
  package static let standbyReady = LogEvent(.info, "standby.ready")
  package static let standbyPartitionTooLarge = LogEvent(.warning, "standby.partition-too-large")
  package static let standbyPartitionRestarted = LogEvent(.warning, "standby.partition-restarted")
  package static let standbyPartitionDamaged = LogEvent(.warning, "standby.partition-damaged")
}
