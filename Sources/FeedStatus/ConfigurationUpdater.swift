package import Diagnostics
package import FeedConfiguration
package import OperatingSystem
import Settings
import Synchronization

/// Reads the configuration again while a daemon runs, and lets its parts apply the changes that they support.
///
/// All or nothing: if the configuration is wrong, or a part rejects it, nothing changes. Changes that need a restart are
/// logged at each update until then.
package final class ConfigurationUpdater: Sendable {
  private let sources: ConfigurationSources
  private let log: Log
  /// The part that determines whether the log line about an update is written.
  private let level: UpdatablePart
  private let state: Mutex<State>
  private let failed = Mutex<String?>(nil)
  /// The error of the last update, if it failed.
  package var failure: String? { failed.withLock { $0 } }

  private struct State {
    /// The current settings of the process, by key.
    var running: [String: ConfigurationValue]
    var parts: [UpdatablePart]
    /// The service manager, which waits for the end of an update, if there is one.
    var supervisor: SupervisorSocket?
  }

  /// - Parameters:
  ///   - sources: the sources to read again.
  ///   - running: the settings from the start.
  ///   - log: its level changes with `log.level`.
  package init(_ sources: ConfigurationSources, running: LoadedConfiguration, log: Log) {
    self.sources = sources
    self.log = log
    level = UpdatablePart(keys: ["log.level"]) { configuration in
      guard configuration.logLevel != log.level else { return nil }
      return (["log.level"], { log.setLevel(configuration.logLevel) })
    }
    state = Mutex(State(running: Self.values(running), parts: []))
  }

  package func add(_ part: UpdatablePart) { state.withLock { $0.parts.append(part) } }

  /// Notifies the service manager of updates from now on. Call it once the daemon is ready.
  package func tell(_ supervisor: SupervisorSocket) { state.withLock { $0.supervisor = supervisor } }

  /// Reads the configuration, and applies it. Blocks while files are read.
  package func run() {
    state.withLock { state in
      state.supervisor?.send([
        "RELOADING=1", "MONOTONIC_USEC=\(MonotonicClock.nanoseconds() / 1_000)",
      ])
      defer { state.supervisor?.send(["READY=1"]) }
      do {
        try update(&state)
      } catch {
        failed.withLock { $0 = "\(error)" }
        log.write(
          .configReloadFailed,
          "configuration not reloaded; everything stays as it was",
          ["error": "\(error)"]
        )
      }
    }
  }

  private func update(_ state: inout State) throws {
    let loaded = try sources.load()
    let levelChange = try level.prepare(loaded.configuration)
    let changes = try state.parts.compactMap { try $0.prepare(loaded.configuration) }
    let values = Self.values(loaded)
    let keys = Set(values.keys).union(state.running.keys).filter { values[$0] != state.running[$0] }
    let reloadable = Set(state.parts.flatMap(\.keys)).union(level.keys)
    let applied = ([levelChange].compactMap(\.self) + changes).flatMap(\.keys)
    let changed = keys.intersection(reloadable).union(applied)
    // The operator waits for this line: it follows all changes, and uses the more verbose of the two levels.
    for change in changes { try change.apply() }
    failed.withLock { $0 = nil }
    let isHeard = log.level <= .info
    if isHeard { log.write(.configReloaded, "configuration reloaded", ["changed": Self.list(changed)]) }
    try levelChange?.apply()
    if !isHeard { log.write(.configReloaded, "configuration reloaded", ["changed": Self.list(changed)]) }
    for key in reloadable { state.running[key] = values[key] }
    let others = keys.subtracting(reloadable)
    if !others.isEmpty {
      log.write(.configRestartRequired, "restart to apply changed settings", ["keys": Self.list(others)])
    }
    for variable in loaded.unknownVariables { log.write(.configUnknownVariable, variable.description) }
  }

  private static func values(_ loaded: LoadedConfiguration) -> [String: ConfigurationValue] {
    Dictionary(loaded.readings.map { ($0.key, $0.value) }) { first, _ in first }
  }

  private static func list(_ keys: Set<String>) -> String {
    keys.isEmpty ? "nothing" : keys.sorted().joined(separator: ",")
  }
}

/// A part of a running daemon that accepts new settings, such as the server its token or its certificates.
package struct UpdatablePart: Sendable {
  /// The changed keys, for the log, and a closure that applies them once all parts have accepted them.
  package typealias Change = (keys: [String], apply: @Sendable () throws -> Void)

  /// The keys whose changes the part supports.
  package let keys: Set<String>
  /// Checks settings without changing anything; nil if nothing changes. It reads the settings' files again. It throws
  /// if it cannot use the settings, and then no part changes anything.
  package let prepare: @Sendable (FeedStoreConfiguration) throws -> Change?

  package init(keys: Set<String>, prepare: @escaping @Sendable (FeedStoreConfiguration) throws -> Change?) {
    self.keys = keys
    self.prepare = prepare
  }
}
