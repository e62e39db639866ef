import Glibc

/// A file with a secret. It is rejected if other users can read it.
package enum SecretFile {
  /// Reads the file as text, without a final line break.
  ///
  /// - Parameter most: its maximum size in bytes.
  package static func text(_ path: String, atMost most: Int) throws(FileError) -> String {
    var bytes = try bytes(path, atMost: most)
    if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
    if bytes.last == UInt8(ascii: "\r") { bytes.removeLast() }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw FileError(number: EILSEQ, "\(path) is not UTF-8; save it as UTF-8")
    }
    return text
  }

  /// Reads the file.
  ///
  /// - Parameter most: its maximum size in bytes.
  package static func bytes(_ path: String, atMost most: Int) throws(FileError) -> [UInt8] {
    let bytes = try WholeFile.reading(path) { descriptor throws(FileError) in
      try check(descriptor, path)
      return try WholeFile.bytes(of: descriptor, path, atMost: most)
    }
    if let bytes { return bytes }
    throw FileError(number: EFBIG, "\(path) has more than \(most) bytes; name the file that holds the secret")
  }

  /// Rejects a file that other users can read, or that cannot be opened.
  package static func check(_ path: String) throws(FileError) {
    try WholeFile.reading(path) { descriptor throws(FileError) in try check(descriptor, path) }
  }

  private static func check(_ descriptor: Int32, _ path: String) throws(FileError) {
    let permissions = try FilePermissions(descriptor, path)
    if let fault = permissions.fault(path, user: geteuid()) { throw FileError(number: EACCES, fault) }
  }
}

/// The permissions of a file that contains a secret.
///
/// The rule is PostgreSQL's for `server.key`: a file owned by the process's user must be accessible to that user only
/// (`0600`). A file owned by root may also be group-readable (`0640`), the way packages and Kubernetes provide
/// secrets. No other owner is accepted.
package struct FilePermissions: Equatable {
  /// Whether it is a regular file, not a pipe or a device.
  var isRegular = true
  var mode: UInt32
  var owner: UInt32

  /// Why this file must not contain a secret, with the remedy; nil if it may.
  ///
  /// - Parameter user: the process's user id.
  package func fault(_ path: String, user: UInt32) -> String? {
    guard isRegular else { return nil }
    let isRoots = owner == 0
    guard isRoots || user == 0 || owner == user else {
      return """
        \(path) belongs to user \(owner), who could replace the secret in it; \
        give it to root or to the user of this process (chown), and chmod 600 it
        """
    }
    let others: UInt32 = isRoots || owner != user ? 0o037 : 0o077
    guard mode & others != 0 else { return nil }
    let octal = String(mode, radix: 8)
    return """
      \(path) holds a secret, and others have access to it (mode \(String(repeating: "0", count: 4 - octal.count))\(octal)); \
      \(isRoots ? "chmod 640 or 600" : "chmod 600") \(path)
      """
  }
}

extension FilePermissions {
  /// The permissions of an open file.
  package init(_ descriptor: Int32, _ path: String) throws(FileError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError("read \(path)") }
    self.init(
      isRegular: status.st_mode & S_IFMT == S_IFREG,
      mode: status.st_mode & 0o777,
      owner: status.st_uid
    )
  }
}
