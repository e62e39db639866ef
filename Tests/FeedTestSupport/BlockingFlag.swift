import Glibc

/// A flag that is set once. Waiting for it blocks the thread.
package final class BlockingFlag: Sendable {
  private let ends: [Int32]

  package init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    self.ends = ends
  }

  deinit {
    for end in ends { close(end) }
  }

  package func set() {
    var byte: UInt8 = 0
    _ = write(ends[1], &byte, 1)
  }

  /// Returns at once if the flag is set, also on later calls.
  package func wait() {
    var descriptor = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    while poll(&descriptor, 1, -1) < 0 {}
  }
}
