package import FeedConfiguration
package import Service
import Synchronization

/// Reads the configuration again while a daemon runs, and lets its parts apply what they can.
///
/// All or nothing: if the configuration is wrong, or a part cannot work with it, everything stays as it was. What needs a
/// restart is named at each update until the process is restarted.
package final class ConfigurationUpdater: Sendable {
  private let sources: ConfigurationSources
  private let log: Log
  /// The part that decides whether the line about an update is logged.
  private let level: UpdatablePart
  private let state: Mutex<State>
  private let failed = Mutex<String?>(nil)
  /// Why the last update failed; nil if it did not.
  package var failure: String? { failed.withLock { $0 } }

  private struct State {
    /// What the process works with, by key.
    var running: [String: ConfigurationValue]
    var parts: [UpdatablePart]
    /// The service manager, which waits for an update to end; nil if there is none.
    var supervisor: SupervisorSocket?
  }

  /// - Parameters:
  ///   - sources: what is read again.
  ///   - running: what was read of them at the start.
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

  /// Reads the configuration, and takes over what can be. Blocks while files are read.
  package func run() {
    state.withLock { state in
      state.supervisor?.send([
        "RELOADING=1", "MONOTONIC_USEC=\(MonotonicClock.nanoseconds() / 1_000)",
      ])
      defer { state.supervisor?.send(["READY=1"]) }
      do {
        try update(&state)
        failed.withLock { $0 = nil }
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
    // The operator waits for this line: everything is applied by then, and it is written at the more talkative of two levels.
    for change in changes { try change.apply() }
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

/// Something of a running daemon that can take over other settings, such as the server its token or its certificates.
package struct UpdatablePart: Sendable {
  /// What changes, for the log, and what is to be done once all parts have found the settings right.
  package typealias Change = (keys: [String], apply: @Sendable () throws -> Void)

  /// The keys whose changes it takes over.
  package let keys: Set<String>
  /// Looks at settings without changing anything; nil if nothing is to be done. It reads files again that the settings
  /// name. It throws if it cannot work with them, and then no part changes anything.
  package let prepare: @Sendable (FeedStoreConfiguration) throws -> Change?

  package init(keys: Set<String>, prepare: @escaping @Sendable (FeedStoreConfiguration) throws -> Change?) {
    self.keys = keys
    self.prepare = prepare
  }
}
