import Foundation
import Testing

/// The code blocks of README.md.
enum Readme {
  static func blocks(_ info: String) throws -> [String] {
    let text = try String(
      contentsOf: Checkout.root.appendingPathComponent("clients/swift/README.md"),
      encoding: .utf8
    )
    let pieces = text.components(separatedBy: "\n```")
    return stride(from: 1, to: pieces.count - 1, by: 2).compactMap { index in
      let lines = pieces[index].components(separatedBy: "\n")
      return lines[0] == info ? lines.dropFirst().joined(separator: "\n") + "\n" : nil
    }
  }

  /// The folder of what is built.
  static let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()

  /// Compiles a program; its errors and warnings.
  static func compile(_ code: String, _ arguments: [String]) throws -> String {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let (file, messages) = (
      folder.appendingPathComponent("main.swift"), folder.appendingPathComponent("messages")
    )
    try code.write(to: file, atomically: false, encoding: .utf8)
    try Data().write(to: messages)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments =
      ["swiftc", "-swift-version", "6", "-I", products.appendingPathComponent("Modules").path, file.path]
      + arguments
    process.standardError = try FileHandle(forWritingTo: messages)
    try process.run()
    process.waitUntilExit()
    return try String(contentsOf: messages, encoding: .utf8)
  }
}
