import Testing

@testable import OperatingSystem

/// PostgreSQL's rule for `server.key`.
struct FilePermissionsTests {
  private func fault(_ mode: UInt32, owner: UInt32, user: UInt32) -> String? {
    FilePermissions(mode: mode, owner: owner).fault("/etc/secret", user: user)
  }

  @Test func `a file of the process's user must be accessible to that user only`() {
    for mode in [0o600, 0o400, 0o700, 0o000] as [UInt32] { #expect(fault(mode, owner: 7, user: 7) == nil) }
    for mode in [0o640, 0o604, 0o620, 0o644, 0o601] as [UInt32] {
      #expect(fault(mode, owner: 7, user: 7)?.hasSuffix("; chmod 600 /etc/secret") == true)
    }
  }

  @Test(arguments: [0, 7])
  func `a file owned by root may be readable by its group, as packages and Kubernetes provide it`(
    user: UInt32
  ) {
    for mode in [0o600, 0o640, 0o440, 0o400] as [UInt32] { #expect(fault(mode, owner: 0, user: user) == nil) }
    for mode in [0o644, 0o444, 0o660, 0o650] as [UInt32] {
      #expect(fault(mode, owner: 0, user: user)?.hasSuffix("; chmod 640 or 600 /etc/secret") == true)
    }
  }

  @Test func `a file of another user is refused, because that user could replace it`() {
    #expect(fault(0o640, owner: 8, user: 7)?.contains("belongs to user 8") == true)
  }

  @Test func `root may read a private file of any user`() {
    #expect(fault(0o600, owner: 8, user: 0) == nil)
    #expect(fault(0o604, owner: 8, user: 0)?.hasSuffix("; chmod 600 /etc/secret") == true)
  }

  @Test func `the permissions of a pipe are not checked`() {
    #expect(FilePermissions(isRegular: false, mode: 0o666, owner: 8).fault("/dev/fd/3", user: 7) == nil)
  }

  @Test func `the message names the file and its mode`() {
    #expect(
      fault(0o044, owner: 7, user: 7)
        == "/etc/secret holds a secret, and others have access to it (mode 0044); chmod 600 /etc/secret"
    )
  }
}
