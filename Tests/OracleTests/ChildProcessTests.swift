import Foundation
import ProcessSupport
import Testing

@Suite struct ChildProcessTests {
  @Test func `it ends with an exit code or by a signal`() throws {
    #expect(try ChildProcess("/bin/sh", ["-c", "exit 7"]).waitForEnd() == .exited(7))
    #expect(try ChildProcess("/bin/sh", ["-c", "kill -9 $$"]).waitForEnd() == .killed(signal: SIGKILL))
    let input = Pipe()
    let waiting = try ChildProcess("/bin/cat", [], input: .pipe(input))
    #expect(waiting.end == nil)
    waiting.signal(SIGTERM)
    #expect(waiting.waitForEnd() == .killed(signal: SIGTERM))
    #expect(waiting.end == .killed(signal: SIGTERM))
  }

  @Test func `it runs in its folder, with its environment and no files but its streams`() throws {
    let open = try #require(FileHandle(forReadingAtPath: "/dev/null"))
    let output = Pipe()
    // The fourth file is the directory that `ls` reads.
    let process = try ChildProcess(
      "/bin/sh",
      ["-c", "pwd; env | grep ^WORD; exec ls /proc/self/fd"],
      environment: ["PATH": "/usr/bin:/bin", "WORD": "of its own"],
      in: "/usr",
      output: .pipe(output)
    )
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    #expect(text == "/usr\nWORD=of its own\n0\n1\n2\n3\n")
    #expect(process.waitForEnd() == .exited(0))
    try open.close()
  }

  @Test func `a program that cannot be started is named`() {
    let error = #expect(throws: ChildProcess.NotStarted.self) { try ChildProcess("/missing", []) }
    #expect(error?.description == "could not start /missing: No such file or directory")
  }
}
