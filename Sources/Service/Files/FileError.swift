import Glibc

/// Why a file could not be read or written.
public struct FileError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The system's number for it, such as `ENOENT`.
  public let number: Int32
  /// What was tried, with the path, and why it failed.
  public let description: String

  /// Whether there is no such file.
  public var isMissing: Bool { number == ENOENT }
  /// Whether others may read a file that has a secret in it.
  public let isExposed: Bool

  /// - Parameter action: what was tried, with the path; put together once `errno` is read.
  init(_ action: @autoclosure () -> String, _ number: Int32 = errno) {
    self.number = number
    isExposed = false
    description = "cannot \(action()): \(String(cString: strerror(number)))"
  }

  /// - Parameter description: what is wrong, with the path and the remedy.
  init(number: Int32, isExposed: Bool = false, _ description: String) {
    self.number = number
    self.isExposed = isExposed
    self.description = description
  }
}
