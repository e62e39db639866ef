public import Foundation

/// The seeds of a target: inputs that are known to be worth trying, among them those that once showed a bug.
public enum FuzzCorpus {
  /// Where the seeds of all targets are, each in a folder of its own.
  public static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Corpus")

  /// The seeds of a target by the names of their files, in the order of the names.
  public static func seeds(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
    let files = try FileManager.default.contentsOfDirectory(
      at: folder.appendingPathComponent(target.name),
      includingPropertiesForKeys: nil
    )
    return try files.sorted { $0.lastPathComponent < $1.lastPathComponent }.map { file in
      (file.lastPathComponent, Array(try Data(contentsOf: file)))
    }
  }
}
