package import FeedConfiguration

/// Something of a running daemon that can take over other settings, such as the server its token or its certificates.
package struct ReloadablePart: Sendable {
  /// What is to be done, once all parts have found the settings right.
  package struct Change: Sendable {
    /// What changes, for the log: keys.
    package let keys: [String]
    package let apply: @Sendable () -> Void

    package init(_ keys: [String], apply: @escaping @Sendable () -> Void) {
      self.keys = keys
      self.apply = apply
    }
  }

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
