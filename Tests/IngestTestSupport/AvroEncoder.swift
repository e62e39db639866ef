import Foundation

/// Encodes JSON in Avro, in the first branch of a union that fits.
struct AvroEncoder {
  private let schema: Any
  private var names: [String: Any] = [:]

  init(_ text: String) {
    schema = try! JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)
    note(schema)
  }

  private mutating func note(_ schema: Any) {
    for branch in schema as? [Any] ?? [] { note(branch) }
    guard let schema = schema as? [String: Any] else { return }
    if let name = schema["name"] as? String { names[name] = schema }
    for inner in [schema["type"], schema["items"], schema["fields"]] { note(inner ?? "") }
  }

  /// - Returns: nil if the value does not fit.
  func callAsFunction(_ json: String) -> [UInt8]? {
    let value = try! JSONSerialization.jsonObject(with: Data(json.utf8), options: .fragmentsAllowed)
    return encode(value, schema)
  }

  private func encode(_ value: Any, _ schema: Any) -> [UInt8]? {
    if let branches = schema as? [Any] {
      for (number, branch) in branches.enumerated() {
        if let bytes = encode(value, branch) { return Self.long(number) + bytes }
      }
      return nil
    }
    let type = schema as? [String: Any] ?? ["type": schema]
    switch type["type"] as? String {
    case "null": return value is NSNull ? [] : nil
    case "long": return (value as? NSNumber).map { Self.long($0.intValue) }
    case "string": return (value as? String).map { Self.long($0.utf8.count) + $0.utf8 }
    case "bytes":
      return (value as? String).flatMap { Data(base64Encoded: $0) }.map { Self.long($0.count) + $0 }
    case "array":
      guard let elements = value as? [Any] else { return nil }
      let all = elements.compactMap { encode($0, type["items"]!) }.flatMap(\.self)
      if elements.isEmpty { return [0] }
      // A negative number of elements precedes the size of the block.
      return Self.long(-elements.count) + Self.long(all.count) + all + [0]
    case "record":
      guard let members = value as? [String: Any], let fields = type["fields"] as? [[String: Any]],
        members.keys.allSatisfy({ name in fields.contains { $0["name"] as? String == name } })
      else { return nil }
      var bytes: [UInt8] = []
      for field in fields {
        guard let next = encode(members[field["name"] as! String] ?? NSNull(), field["type"]!) else {
          return nil
        }
        bytes += next
      }
      return bytes
    case let name?: return names[name].flatMap { encode(value, $0) }
    case nil: return encode(value, type["type"]!)
    }
  }

  static func long(_ value: Int) -> [UInt8] {
    var rest = UInt(bitPattern: value << 1 ^ value >> 63)
    var bytes: [UInt8] = []
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}

extension TableScript {
  private static let row = #"""
    {"type":"record","name":"Row","fields":[{"name":"id","type":"long"},{"name":"customer_id","type":["null","long"]},\#
    {"name":"contact_id","type":["null","long"]},\#
    {"name":"status","type":["null","string"]},{"name":"region","type":"string"},\#
    {"name":"amount","type":{"type":"bytes","logicalType":"decimal","scale":2}},{"name":"a/b~c","type":"string"},\#
    {"name":"document","type":["null","string",{"type":"array","items":"string"},{"type":"record","name":"A","fields":\#
    [{"name":"a","type":"null"},{"name":"b","type":{"type":"array","items":"long"}}]},\#
    {"type":"record","name":"C","fields":[{"name":"c","type":"string"}]}]},{"name":"change","type":"long"}]}
    """#

  /// Of keys, heartbeats, ends of transactions and events; their ids are their places.
  public static let avroSchemas = [
    #"{"type":"record","name":"Key","fields":[{"name":"id","type":"long"}]}"#,
    #"{"type":"record","name":"Heartbeat","fields":[{"name":"ts_ms","type":"long"}]}"#,
    #"""
    {"type":"record","name":"End","fields":[{"name":"status","type":"string"},{"name":"id","type":"string"},\#
    {"name":"event_count","type":"null"}]}
    """#,
    #"""
    {"type":"record","name":"Envelope","fields":[{"name":"before","type":["null",\#(row)]},{"name":"after","type":["null","Row"]},\#
    {"name":"source","type":["null",{"type":"record","name":"Source","fields":[{"name":"table","type":"string"}]}]},\#
    {"name":"op","type":"string"},{"name":"ts_ms","type":["null","long"]},\#
    {"name":"message","type":["null",{"type":"record","name":"Message","fields":[]}]}]}
    """#,
  ]

  /// A key or a value as bytes: of Avro in Confluent's wire format.
  public func encoded(_ text: String?) -> [UInt8]? {
    guard let text, isAvro else { return text.map { Array($0.utf8) } }
    let object = try! JSONSerialization.jsonObject(with: Data(text.utf8)) as! [String: Any]
    let payload = try! JSONSerialization.data(withJSONObject: object["payload"] ?? object)
    for (id, schema) in Self.avroSchemas.enumerated() {
      let content = AvroEncoder(schema)(String(decoding: payload, as: UTF8.self))
      if let content { return [0, 0, 0, 0, UInt8(id)] + content }
    }
    fatalError("no schema fits \(text)")
  }
}
