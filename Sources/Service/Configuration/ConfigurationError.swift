/// An invalid configuration. The process should print it and exit with ``ExitCode/usage``.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of configuration errors.
  package enum Code: String, Sendable {
    /// The file cannot be read.
    case unreadable = "unreadable"
    /// The text is not JSON5, or not an object.
    case syntax = "syntax"
    /// A key is set twice in one file.
    case duplicateKey = "duplicate-key"
    /// There is no such key.
    case unknownKey = "unknown-key"
    /// The value has the wrong type.
    case wrongType = "wrong-type"
    /// The value has the right type, but is not allowed.
    case outOfRange = "out-of-range"
    /// Two values contradict each other.
    case conflict = "conflict"
    /// A `--set` without `KEY=VALUE`.
    case assignment = "assignment"
    /// A reference `${…}` cannot be resolved.
    case reference = "reference"
    /// Other users can read a secret.
    case exposed = "exposed"
  }

  /// The kind of error; stable.
  package let code: Code
  /// The source: a file, with the line if it is known; an environment variable; or `--set`.
  package let place: String?
  /// The dotted key; nil if the error does not concern one key.
  package let key: String?
  /// The value as written, strings in quotes; secrets are left out.
  package let value: String?
  /// The allowed values, in words.
  package let allowed: String?
  /// The mistake and the remedy, in one line, without the source.
  package let message: String

  package init(
    _ code: Code,
    _ message: String,
    place: String? = nil,
    key: String? = nil,
    value: String? = nil,
    allowed: String? = nil
  ) {
    self.code = code
    self.place = place
    self.key = key
    self.value = value
    self.allowed = allowed
    self.message = message
  }

  /// The source and the message.
  package var description: String {
    place.map { "\($0): \(message)" } ?? message
  }
}
