import Glibc

/// The limit of open files and sockets.
public enum OpenFiles {
  /// Raises the limit, as far as the system allows (`LimitNOFILE` in a systemd unit, `ulimit -Hn`).
  ///
  /// Many systems start with 1024, for programs that use `select`, and let other programs raise it. A higher limit is
  /// kept.
  ///
  /// - Returns: the resulting limit.
  public static func allow(_ count: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
    if limit.rlim_cur < rlim_t(count) {
      let previous = limit.rlim_cur
      limit.rlim_cur = min(rlim_t(count), limit.rlim_max)
      if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) != 0 { limit.rlim_cur = previous }
    }
    return Int(clamping: limit.rlim_cur)
  }
}
