/// Why an HTTP server cannot start.
public struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Code: String, Sendable {
    /// The address is invalid, or not an address of this machine.
    case address = "address"
    /// Another program uses the port.
    case portInUse = "port-in-use"
    /// The port requires privileges.
    case denied = "denied"
    /// Others could connect, and no token is configured.
    case tokenNeeded = "token-needed"
    /// The token is invalid or cannot be read.
    case token = "token"
    /// The certificate cannot be read, or does not match its key.
    case certificate = "certificate"
    /// The certificate's key cannot be read, or other users can read it.
    case key = "key"
    /// The authorities of client certificates cannot be read.
    case clientAuthority = "client-authority"
    /// The limit of open files is too low for the connections.
    case openFiles = "open-files"
    /// Another error of the system.
    case system = "system"
  }

  /// The kind of error; stable.
  public let code: Code
  /// The problem and the remedy, in one line.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Whether a retry may succeed without intervention: when another program releases the port.
  public var isRetriable: Bool { code == .portInUse }
  /// There is no server after an error.
  public var isFatal: Bool { true }
  public var description: String { message }
}
