/// One member of a JSON object.
public struct OracleJSONMember: Sendable, Equatable {
  /// The name as spelled, with its quotation marks.
  public let rawName: [UInt8]
  /// The name, decoded to UTF-8.
  public let name: [UInt8]
  public let value: OracleJSON

  public init(rawName: [UInt8], name: [UInt8], value: OracleJSON) {
    self.rawName = rawName
    self.name = name
    self.value = value
  }
}
