/// An invalid configuration. The process should print it and exit with ``ExitCode/usage``.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The mistake, with its key and the allowed values, in one line; without the source, and without secrets.
  package let message: String
  /// The source: a file, with the line if known; an environment variable; or `--set`.
  package let place: String?

  package init(_ message: String, place: String? = nil) {
    self.message = message
    self.place = place
  }

  /// The source and the message.
  package var description: String {
    place.map { "\($0): \(message)" } ?? message
  }
}
