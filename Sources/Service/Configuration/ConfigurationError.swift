/// A configuration that cannot be used. The process should print it and exit with ``ExitCode/usage``.
public struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong with a configuration.
  public enum Code: String, Sendable {
    /// The file cannot be read.
    case unreadable = "unreadable"
    /// The text is not JSON5, or not an object.
    case syntax = "syntax"
    /// A key is set twice in one file.
    case duplicateKey = "duplicate-key"
    /// Nothing is called so.
    case unknownKey = "unknown-key"
    /// The value is not of the key's type.
    case wrongType = "wrong-type"
    /// The value is of the right type, but not allowed.
    case outOfRange = "out-of-range"
    /// Two values do not go together.
    case conflict = "conflict"
    /// A `--set` that is not `KEY=VALUE`.
    case assignment = "assignment"
    /// A `${…}` in a value that stands for nothing.
    case reference = "reference"
    /// A secret that others may read.
    case exposed = "exposed"
  }

  /// What kind of mistake it is; stable.
  public let code: Code
  /// Where: a file with the line if it is known, an environment variable, or `--set`.
  public let place: String?
  /// The dotted key, if the mistake is that of a key.
  public let key: String?
  /// The value as it stands there, strings in quotes; secrets are left out.
  public let value: String?
  /// What the value may be, in words.
  public let allowed: String?
  /// Names what is wrong and what to do about it, in one line, without the place.
  public let message: String

  public init(
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

  /// The same configuration fails the same way again.
  public var isRetriable: Bool { false }
  /// Nothing can be begun without a correct configuration.
  public var isFatal: Bool { true }
  /// The place and the message.
  public var description: String {
    place.map { "\($0): \(message)" } ?? message
  }
}
