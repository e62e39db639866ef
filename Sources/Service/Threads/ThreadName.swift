import Glibc

/// Names threads for debuggers and `top -H`.
enum ThreadName {
  /// Names the calling thread.
  ///
  /// Linux's `pthread_setname_np` is a GNU extension that is not imported, and `prctl` is variadic; the kernel
  /// takes the name from a file as well. A name that cannot be set is no reason to stop.
  ///
  /// - Parameter name: At most 15 bytes; the kernel cuts the rest.
  static func set(_ name: String) {
    let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    let bytes = Array(name.utf8.prefix(15))
    _ = write(descriptor, bytes, bytes.count)
  }
}
