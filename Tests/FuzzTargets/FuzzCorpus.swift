public import Foundation

/// The seeds of a target: useful inputs, including those that once revealed a bug.
public enum FuzzCorpus {
  /// The folder with the seeds, one subfolder for each target.
  public static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Corpus")

  /// The seeds of a target, sorted by file name.
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
