import Glibc

/// Reads many sockets on a separate thread, and discards the data.
final class StreamDrain: @unchecked Sendable {
  // Unchecked: `isStopping` is only ever set, and nothing else changes.
  private let descriptors: [pollfd]
  private var thread = pthread_t()
  private var isStopping = false

  init(_ descriptors: [Int32]) {
    self.descriptors = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let owner = Unmanaged.passRetained(self).toOpaque()
    let result = pthread_create(&thread, nil, { @Sendable in drainMain($0) }, owner)
    guard result == 0 else { BenchmarksCommand.fail("no thread") }
  }

  func stop() {
    isStopping = true
    pthread_join(thread, nil)
  }

  fileprivate func run() {
    var polled = descriptors
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while !isStopping {
      guard poll(&polled, nfds_t(polled.count), 100) > 0 else { continue }
      for entry in polled where entry.revents != 0 {
        _ = recv(entry.fd, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      }
    }
  }
}

private func drainMain(_ owner: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let owner else { return nil }
  Unmanaged<StreamDrain>.fromOpaque(owner).takeRetainedValue().run()
  return nil
}
