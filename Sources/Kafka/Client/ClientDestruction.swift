import CRdkafka
import Glibc

/// Destroys a client on a separate thread, so that the wait can have a timeout.
///
/// Consumers leave their group before this, with a deadline. Here they are only destroyed
/// (`RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE`), so that no callback runs on the thread.
struct ClientDestruction {
  let client: OpaquePointer
  let context: Unmanaged<CallbackContext>

  /// The write end of a pipe, closed when the client has been destroyed; -1 if nobody waits.
  private var signal: Int32 = -1

  init(client: OpaquePointer, context: Unmanaged<CallbackContext>) {
    self.client = client
    self.context = context
  }

  /// - Returns: whether the client was destroyed in time; otherwise its destruction continues.
  func run(timeoutMilliseconds: Int32) -> Bool {
    var ends: [Int32] = [-1, -1]
    if timeoutMilliseconds > 0, pipe(&ends) == 0 {
      // Closed in child processes: one that kept the write end open would prevent the hang-up.
      _ = fcntl(ends[0], F_SETFD, FD_CLOEXEC)
      _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
    }
    let job = UnsafeMutablePointer<ClientDestruction>.allocate(capacity: 1)
    job.initialize(to: self)
    job.pointee.signal = ends[1]

    var thread = pthread_t()
    guard pthread_create(&thread, nil, { ClientDestruction.main($0) }, job) == 0 else {
      // No thread is available. Blocking without a timeout is better than leaking the client.
      _ = ClientDestruction.main(job)
      close(ends[0])
      return true
    }
    pthread_detach(thread)
    guard ends[0] >= 0 else { return false }
    defer { close(ends[0]) }
    return Self.waitForHangUp(ends[0], Deadline(milliseconds: timeoutMilliseconds))
  }

  private static func waitForHangUp(_ end: Int32, _ deadline: Deadline) -> Bool {
    var descriptor = pollfd(fd: end, events: 0, revents: 0)
    while true {
      let result = poll(&descriptor, 1, deadline.remainingMilliseconds)
      if result >= 0 || errno != EINTR {
        return result > 0
      }
    }
  }

  private static func main(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let job = argument?.assumingMemoryBound(to: ClientDestruction.self) else { return nil }
    let destruction = job.move()
    job.deallocate()
    rd_kafka_destroy_flags(destruction.client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    destruction.context.release()
    if destruction.signal >= 0 {
      close(destruction.signal)
    }
    return nil
  }
}
