import FeedTestSupport
import Foundation
import HTTPTestSupport
import Oracle
import Testing

/// SIGHUP to the built command.
struct ReloadTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func write(_ name: String, _ text: String) throws {
    let path = try folder.file(name, text.utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  @Test
  func `it applies the token and the log level, names changes that need a restart, and survives errors`()
    throws
  {
    let manager = try TestSupervisor(isAbstract: false)
    try write("token", "0123456789abcdef\n")
    try write("feedstore.json5", "{ http: { enabled: true, feeds: false, port: 0, tokenFile: 'token' } }")
    let daemon = try RunningCommand(
      ["run", "--embedded", "--config", "feedstore.json5"],
      in: folder.url,
      environment: ["NOTIFY_SOCKET": manager.address]
    )
    let serving = try daemon.line(with: "event=http.serving url=")
    let port = try #require(serving.split(separator: ":").last.flatMap { Int($0) })
    func status(_ token: String) throws -> Int {
      let client = try HTTPTestClient(port: port)
      try client.request("GET /v1/status", "Authorization: Bearer \(token)")
      return try client.response().status
    }
    func ask(_ path: String) throws -> String {
      let client = try HTTPTestClient(port: port)
      try client.request("GET \(path)", "Authorization: Bearer fedcba9876543210")
      return try client.response().text
    }
    #expect(try status("0123456789abcdef") == 200)
    var notice = ""
    while !notice.contains("READY=1") { notice = try manager.receive() }

    try write("token", "fedcba9876543210\n")
    daemon.signal(SIGHUP)
    #expect(try daemon.line(with: "configuration").hasSuffix("event=config.reloaded changed=http.tokenFile"))
    while !notice.contains("RELOADING=1") { notice = try manager.receive() }
    #expect(notice.contains("MONOTONIC_USEC="))
    while !notice.contains("READY=1") { notice = try manager.receive() }
    #expect(try status("0123456789abcdef") == 401)
    #expect(try status("fedcba9876543210") == 200)

    try write("feedstore.json5", "{ http: { enabled: true, feeds: false, port: 0, tokenFile: 'nowhere' } }")
    daemon.signal(SIGHUP)
    #expect(try daemon.line(with: "configuration not reloaded").contains("cannot read nowhere"))
    #expect(try status("fedcba9876543210") == 200)
    #expect(try ask("/v1/status").contains("\"reloadFailure\":\"http.tokenFile: cannot read nowhere"))
    #expect(try ask("/metrics").contains("\nfeedstore_configuration_reload_failed 1\n"))

    try write(
      "feedstore.json5",
      "{ http: { enabled: true, feeds: true, port: 0, tokenFile: 'token' }, log: { level: 'debug' }, workers: 2 }"
    )
    daemon.signal(SIGHUP)
    #expect(try daemon.line(with: "configuration").hasSuffix("event=config.reloaded changed=log.level"))
    #expect(try daemon.line(with: "restart").hasSuffix("keys=http.feeds,workers"))
    #expect(try !ask("/v1/status").contains("reloadFailure"))
    #expect(try ask("/metrics").contains("\nfeedstore_configuration_reload_failed 0\n"))
    #expect(try status("fedcba9876543210") == 200)

    daemon.signal(SIGTERM)
    #expect(try daemon.exitCode() == 0)
  }
}
