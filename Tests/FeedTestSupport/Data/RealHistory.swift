import Foundation
import FoundationEssentials
import ProcessSupport

/// The beginnings of real histories. They exist next to the checkout on some machines only. `FEEDSTORE_DATA` names
/// another folder, and `FEEDSTORE_DATA_LINES` the number of lines to read.
public struct RealHistory: Sendable, CustomStringConvertible {
  public let name: String
  /// The number of lines that a test reads.
  public let lineCount: Int

  public static let all: [RealHistory] = [
    ("covid-italy.events", 1500), ("github-ranking.events", 6000), ("playlists.replace", 60),
    ("power-outages.events", 2500), ("power-outages.replace", 12), ("public-apis.dirty.replace", 30),
  ].map { name, count in
    let wanted = ProcessInfo.processInfo.environment["FEEDSTORE_DATA_LINES"].flatMap { Int($0) }
    return RealHistory(name: name, lineCount: wanted ?? count)
  }

  private static let folder: URL = {
    if let folder = ProcessInfo.processInfo.environment["FEEDSTORE_DATA"] {
      return URL(fileURLWithPath: folder)
    }
    return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("shared/data")
  }()

  /// Whether there are no histories; prints a message if so.
  public static var areAbsent: Bool {
    let isAbsent = !FileManager.default.fileExists(atPath: folder.path)
    if isAbsent { print("the real replay files are not at \(folder.path): their tests are skipped") }
    return isAbsent
  }

  public var description: String { name }

  /// The first lines, decompressed by xz.
  public func lines() throws -> [[UInt8]] {
    let pipe = Pipe()
    let file = Self.folder.appendingPathComponent("\(name).ndjson.xz").path
    let xz = try ChildProcess(
      "/bin/sh",
      ["-c", "xz -dc \"$1\" | head -n \(lineCount)", "sh", file],
      output: .pipe(pipe),
      error: .inherited
    )
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    xz.waitForEnd()
    return data.split(separator: 0x0A).map(Array.init)
  }
}

/// A file's bytes.
public func readFile(_ path: String) throws -> [UInt8] {
  try [UInt8](Data(contentsOf: URL(filePath: path)))
}
