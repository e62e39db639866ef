import Glibc

/// Names threads for debuggers and `top -H`.
enum ThreadName {
  /// Names the calling thread.
  ///
  /// `pthread_setname_np` is a GNU extension that Swift does not import, and `prctl` is variadic, so the name is
  /// written to a file in `/proc`. Errors are ignored.
  ///
  /// - Parameter name: at most 15 bytes; the kernel truncates longer names.
  static func set(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(name.utf8.prefix(15))
    _ = write(descriptor, bytes, bytes.count)
  }
}
