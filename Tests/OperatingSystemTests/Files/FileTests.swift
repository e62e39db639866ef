import Foundation
import Testing

@testable import OperatingSystem

struct FileTests {
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
    "feedstore-files-\(UUID().uuidString)"
  )

  private func path(_ name: String) throws -> String {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder.appendingPathComponent(name).path
  }

  private func remove() { try? FileManager.default.removeItem(at: folder) }

  private func append(_ text: String, to file: AtomicFile) throws {
    try Array(text.utf8).withUnsafeBytes { try file.append($0) }
  }

  @Test func `a file is replaced as a whole, or not at all`() throws {
    defer { remove() }
    let path = try path("state")
    func content() -> String? { try? String(contentsOfFile: path, encoding: .utf8) }
    do {
      let file = try AtomicFile(path)
      try append("one", to: file)
      #expect(content() == nil)
      try append(" two", to: file)
      try file.commit()
    }
    #expect(content() == "one two")
    do {
      let abandoned = try AtomicFile(path)
      try append("three", to: abandoned)
    }
    #expect(content() == "one two")
    try Data("what a crash has left, which is longer".utf8).write(to: URL(fileURLWithPath: path + ".tmp"))
    let next = try AtomicFile(path)
    try append("four", to: next)
    try next.commit()
    #expect(content() == "four")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["state"])
  }

  @Test func `only one process at a time can write a file`() throws {
    defer { remove() }
    let path = try path("state")
    let first = try AtomicFile(path)
    try append("first", to: first)
    #expect(throws: FileError.self) { _ = try AtomicFile(path) }
    try first.commit()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "first")
    #expect(throws: FileError.self) { _ = try AtomicFile(folder.path + "/no/such/folder") }
    #expect(throws: FileError.self) { _ = try AtomicFile("/dev/null") }
  }
}
