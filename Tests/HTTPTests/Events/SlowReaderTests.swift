import Glibc
import HTTPTestSupport
import Synchronization
import Testing

@testable import HTTP
@testable import OperatingSystem

/// In a separate process, because files and threads are counted.
@Suite struct SlowReaderTests {
  @Test(
    .enabled(
      if: OpenFiles.allow(neededFiles) >= neededFiles,
      "a thousand clients in one process need \(neededFiles) open files (ulimit -Hn)"
    )
  )
  func `a thousand readers that read nothing block no thread`() async {
    await #expect(processExitsWith: .success) {
      try followMany()
    }
  }
}

/// A socket at each end, and room for the process's other files.
private let neededFiles = 4096

private func followMany() throws {
  let count = 1000
  try #require(OpenFiles.allow(neededFiles) >= neededFiles)
  let streams = Mutex<[EventStream]>([])
  let ends = Atomic(0)
  let threads = threadCount()
  let server = try HTTPTestServer {
    $0.threads = 2
    $0.maxConnections = 1200
    $0.maxConnectionsPerAddress = 1200
    $0.maxStreams = count
    $0.maxStreamQueueBytes = 32_768
    $0.socketBytes = 4096
  } routes: { router in
    router.add("/events") { _ in
      .events { stream in
        stream.onEnd { ends.add(1, ordering: .relaxed) }
        streams.withLock { $0.append(stream) }
      }
    }
  }
  let clients = try (0..<count).map { _ in try server.connect(receiveBufferBytes: 4096) }
  for client in clients { try client.request("GET /events") }
  for client in clients {
    #expect(try client.head().status == 200)
    #expect(try client.chunk() == "retry: 3000\n\n")
  }
  #expect(server.server.counters.openStreams == count)
  // The server's two threads and its watcher, and some of the cooperative pool.
  #expect(threadCount() < threads + 20)

  // No client reads. Every call must return, or this would not end; eventually every queue is full. The writer stops
  // there: on a busy machine, the server's threads may send queued events only later. Then there is room again, and the
  // next message would follow a gap.
  let all = streams.withLock { $0 }
  var open = all
  var round = 0
  while !open.isEmpty {
    let event = message("\(round) " + String(repeating: "x", count: 1000))
    open = try open.filter { stream in
      switch stream.write(event) {
      case .queued: return true
      case .full: return false
      case .closed: throw HTTPTestClient.Failure(message: "stream \(stream.number) is closed")
      }
    }
    round += 1
  }
  #expect(all.allSatisfy { $0.queuedBytes <= 32_768 })
  #expect(server.server.counters.refusedEvents == count)

  // Half of them disconnect, and all of these are noticed.
  for client in clients[..<(count / 2)] { client.end() }
  try server.wait { $0.openStreams <= count / 2 }
  #expect(ends.load(ordering: .relaxed) == count / 2)

  // The others are sent one message in place of all that they missed, and receive it when they read on.
  let reload = message("reload")
  for stream in all { stream.replaceQueued(with: reload) }
  for client in clients[(count / 2)...] {
    let text = try client.chunks(through: "data: reload\n\n")
    // Earlier messages may precede it; heartbeats are comments.
    let events = text.split(separator: "\n\n").filter { !$0.hasPrefix(":") }.dropLast()
    #expect(events.map { String($0.prefix { $0 != "x" }) } == events.indices.map { "data: \($0) " })
    #expect(events.count < round)
  }
  #expect(server.server.stop(withinMilliseconds: 60_000))
  #expect(ends.load(ordering: .relaxed) == count)
  #expect(server.server.counters.openStreams == 0)
  for client in clients[(count / 2)...] {
    // Reading the others may have taken longer than a heartbeat.
    var chunk = try client.chunk()
    while chunk.hasPrefix(":") { chunk = try client.chunk() }
    #expect(chunk == "")
  }
}

private func message(_ text: String) -> EncodedEvent {
  EncodedEvent(data: Array(text.utf8))
}

/// The number of threads of the process.
private func threadCount() -> Int {
  guard let directory = opendir("/proc/self/task") else { return 0 }
  defer { closedir(directory) }
  var count = 0
  while readdir(directory) != nil { count += 1 }
  return count - 2
}
