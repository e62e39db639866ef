import Glibc

/// How many files and sockets the process may have open.
public enum OpenFiles {
  /// Raises the limit to a number, as far as the system lets the process (`LimitNOFILE` of a systemd unit,
  /// `ulimit -Hn`).
  ///
  /// Many systems give 1024 for the sake of programs that use `select`, and let others ask for more. A limit
  /// that is higher already stays.
  ///
  /// - Returns: The limit there is then.
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
