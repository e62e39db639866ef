/// An HTTP server that cannot be started.
public struct HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What stands in the way.
  public enum Code: String, Sendable {
    /// The address is not one, or not one of this machine.
    case address = "address"
    /// Another program has the port.
    case portInUse = "port-in-use"
    /// The port is for the superuser.
    case denied = "denied"
    /// Others could connect, and nothing says who may.
    case tokenNeeded = "token-needed"
    /// The token cannot be read, or is none.
    case token = "token"
    /// The certificate cannot be read, or does not fit its key.
    case certificate = "certificate"
    /// The certificate's key cannot be read, or others may read it.
    case key = "key"
    /// The authorities of clients' certificates cannot be read.
    case clientAuthority = "client-authority"
    /// The process may not have as many connections open.
    case openFiles = "open-files"
    /// The system refuses something else.
    case system = "system"
  }

  /// What stands in the way; stable.
  public let code: Code
  /// Names the thing and the remedy, in one line.
  public let message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// Whether it may go otherwise without anybody doing something: when the program that has the port ends.
  public var isRetriable: Bool { code == .portInUse }
  /// There is no server then.
  public var isFatal: Bool { true }
  public var description: String { message }
}
