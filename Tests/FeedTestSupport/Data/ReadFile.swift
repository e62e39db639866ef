import FoundationEssentials

/// A file's bytes.
public func readFile(_ path: String) throws -> [UInt8] {
  try [UInt8](Data(contentsOf: URL(filePath: path)))
}
