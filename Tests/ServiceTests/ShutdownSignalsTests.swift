import Glibc
import Service
import Synchronization
import Testing

/// Each test runs in its own process, because signals concern a whole process.
@Suite struct ShutdownSignalsTests {
  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `the first signal is a request`(_ signal: Int32) async {
    await #expect(processExitsWith: .exitCode(40 + signal)) { [signal] in
      let told = Mutex<Int32>(0)
      let toldPipe = TestPipe()
      ShutdownSignals.install(onHangup: true) { signal in
        told.withLock { $0 = signal }
        toldPipe.write()
      }
      guard told.withLock({ $0 }) == 0 else { exit(1) }
      kill(getpid(), signal)
      toldPipe.read()
      guard told.withLock({ $0 }) == signal else { exit(3) }
      exit(40 + signal)
    }
  }

  @Test(arguments: [SIGINT, SIGTERM, SIGHUP])
  func `the second signal ends the process with the shells' exit code`(_ signal: Int32) async {
    await #expect(processExitsWith: .exitCode(128 + signal)) { [signal] in
      let entered = TestPipe()
      // The callback never returns: the second signal must not depend on it.
      ShutdownSignals.install(onHangup: true) { _ in
        entered.write()
        TestPipe().read()
      }
      kill(getpid(), SIGTERM)
      entered.read()
      kill(getpid(), signal)
      // Blocks for ever: nothing is written.
      TestPipe().read()
      exit(1)
    }
  }

  @Test func `a hangup that is ignored stays ignored`() async {
    await #expect(processExitsWith: .exitCode(0)) {
      // As `nohup` does.
      _ = signal(SIGHUP, SIG_IGN)
      let told = Mutex<Int32>(0)
      let toldPipe = TestPipe()
      ShutdownSignals.install(onHangup: true) { signal in
        told.withLock { $0 = signal }
        toldPipe.write()
      }
      kill(getpid(), SIGHUP)
      kill(getpid(), SIGTERM)
      toldPipe.read()
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
      let pipe = TestPipe()
      pipe.closeReadingEnd()
      pipe.write()
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

/// A pipe to block on.
private final class TestPipe: Sendable {
  private let ends: [Int32]

  init() {
    var ends: [Int32] = [-1, -1]
    precondition(pipe(&ends) == 0)
    self.ends = ends
  }

  func read() {
    var byte: UInt8 = 0
    _ = Glibc.read(ends[0], &byte, 1)
  }

  func write() {
    var byte: UInt8 = 0
    _ = Glibc.write(ends[1], &byte, 1)
  }

  func closeReadingEnd() {
    close(ends[0])
  }
}
