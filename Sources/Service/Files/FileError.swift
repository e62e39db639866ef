import Glibc

/// Why a file could not be read or written.
public struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The `errno` value, such as `ENOENT`.
  public let number: Int32
  /// The attempted action with the path, and the reason.
  public let description: String

  /// Whether other users can read a file that contains a secret.
  public let isExposed: Bool

  /// - Parameter action: the attempted action with the path; evaluated after `errno` is read.
  init(_ action: @autoclosure () -> String, _ number: Int32 = errno) {
    self.number = number
    isExposed = false
    description = "cannot \(action()): \(String(cString: strerror(number)))"
  }

  /// - Parameter description: the problem, with the path and the remedy.
  init(number: Int32, isExposed: Bool = false, _ description: String) {
    self.number = number
    self.isExposed = isExposed
    self.description = description
  }
}
