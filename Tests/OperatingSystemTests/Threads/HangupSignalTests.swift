import Glibc
import OperatingSystem
import Testing

/// Each test runs in its own process, because signals concern a whole process.
struct HangupSignalTests {
  @Test func `each signal is a request, and the process continues`() async {
    await #expect(processExitsWith: .exitCode(42)) {
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0 else { exit(1) }
      let (reading, writing) = (ends[0], ends[1])
      HangupSignal.install {
        var byte: UInt8 = 7
        _ = write(writing, &byte, 1)
      }
      var byte: UInt8 = 0
      for _ in 0..<3 {
        kill(getpid(), SIGHUP)
        guard read(reading, &byte, 1) == 1 else { exit(2) }
      }
      exit(42)
    }
  }

  @Test func `signals during a request are merged into one more request`() async {
    await #expect(processExitsWith: .exitCode(42)) {
      var (begun, released): ([Int32], [Int32]) = ([-1, -1], [-1, -1])
      guard pipe(&begun) == 0, pipe(&released) == 0 else { exit(1) }
      let (told, tell, wait, release) = (begun[0], begun[1], released[0], released[1])
      HangupSignal.install {
        var byte: UInt8 = 7
        _ = write(tell, &byte, 1)
        _ = read(wait, &byte, 1)
      }
      // Handled on this thread, and therefore before the call returns.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGHUP)
      pthread_sigmask(SIG_UNBLOCK, &signals, nil)
      var byte: UInt8 = 0
      pthread_kill(pthread_self(), SIGHUP)
      guard read(told, &byte, 1) == 1 else { exit(2) }
      for _ in 0..<100 { pthread_kill(pthread_self(), SIGHUP) }
      for _ in 0..<2 { _ = write(release, &byte, 1) }
      guard read(told, &byte, 1) == 1 else { exit(3) }
      // A third request would arrive before the one sent next.
      for _ in 0..<3 { _ = write(release, &byte, 1) }
      pthread_kill(pthread_self(), SIGHUP)
      guard read(told, &byte, 1) == 1 else { exit(4) }
      _ = fcntl(told, F_SETFL, O_NONBLOCK)
      guard read(told, &byte, 1) == -1, errno == EAGAIN else { exit(5) }
      exit(42)
    }
  }

  @Test func `the signal is installed once`() async {
    await #expect(processExitsWith: .failure) {
      HangupSignal.install {}
      HangupSignal.install {}
    }
  }
}
