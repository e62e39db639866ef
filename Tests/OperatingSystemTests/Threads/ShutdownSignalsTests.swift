import FeedTestSupport
import Glibc
import OperatingSystem
import Synchronization
import Testing

/// Each test runs in its own process, because signals concern a whole process.
@Suite struct ShutdownSignalsTests {
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `the first signal is a request`(_ signal: Int32) async {
    await #expect(processExitsWith: .exitCode(40 + signal)) { [signal] in
      let told = Mutex<Int32>(0)
      let isTold = BlockingFlag()
      ShutdownSignals.install(onHangup: true) { signal in
        told.withLock { $0 = signal }
        isTold.set()
      }
      guard told.withLock({ $0 }) == 0 else { exit(1) }
      kill(getpid(), signal)
      isTold.wait()
      guard told.withLock({ $0 }) == signal else { exit(3) }
      exit(40 + signal)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `the second signal ends the process with the shells' exit code`(_ signal: Int32) async {
    await #expect(processExitsWith: .exitCode(128 + signal)) { [signal] in
      let entered = BlockingFlag()
      // The callback never returns: the second signal must not depend on it.
      ShutdownSignals.install(onHangup: true) { _ in
        entered.set()
        BlockingFlag().wait()
      }
      kill(getpid(), SIGTERM)
      entered.wait()
      kill(getpid(), signal)
      // Blocks for ever: it is never set.
      BlockingFlag().wait()
      exit(1)
    }
  }

  @Test func `a hangup that is ignored stays ignored`() async {
    await #expect(processExitsWith: .exitCode(0)) {
      // As `nohup` does.
      _ = signal(SIGHUP, SIG_IGN)
      let told = Mutex<Int32>(0)
      let isTold = BlockingFlag()
      ShutdownSignals.install(onHangup: true) { signal in
        told.withLock { $0 = signal }
        isTold.set()
      }
      kill(getpid(), SIGHUP)
      kill(getpid(), SIGTERM)
      isTold.wait()
      exit(told.withLock { $0 } == SIGTERM ? 0 : 1)
    }
  }

  @Test func `the signals are installed once`() async {
    await #expect(processExitsWith: .failure) {
      ShutdownSignals.install()
      ShutdownSignals.install()
    }
  }

  @Test func `a broken pipe is an error`() async {
    await #expect(processExitsWith: .exitCode(EPIPE)) {
      ShutdownSignals.ignoreBrokenPipes()
      var ends: [Int32] = [-1, -1]
      guard pipe(&ends) == 0, close(ends[0]) == 0 else { exit(1) }
      _ = write(ends[1], ends, 1)
      exit(errno)
    }
  }

  @Test func `an abort ends the process without the runtime's handler`() async {
    await #expect(processExitsWith: .signal(SIGABRT)) {
      ShutdownSignals.endOnAbort()
      var action = sigaction()
      sigaction(SIGABRT, nil, &action)
      guard action.__sigaction_handler.sa_handler == nil else { exit(1) }
      abort()
    }
  }
}
