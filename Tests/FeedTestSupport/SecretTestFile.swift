package import Glibc

/// A file for one test, removed with this object.
package final class SecretTestFile {
  package let path: String

  package convenience init(_ text: String, mode: mode_t = 0o600) throws {
    try self.init(Array(text.utf8), mode: mode)
  }

  package init(_ bytes: [UInt8], mode: mode_t = 0o600) throws {
    let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var name = Array("\(directory)/feedstore-secret-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    precondition(descriptor >= 0 && fchmod(descriptor, mode) == 0)
    precondition(write(descriptor, bytes, bytes.count) == bytes.count)
    close(descriptor)
    path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  deinit { unlink(path) }
}
