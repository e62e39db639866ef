import Feed
import FeedConfiguration
import FeedStore
import FoundationEssentials
import Settings

/// A schema of Avro, and how its values become the JSON that Kafka Connect's JsonConverter would write, with decimals as numbers.
///
/// FeedStore reads Avro itself, because libavro drops the logical types of a schema, and data can crash it (recursive schemas) or keep
/// it busy for ever (arrays of nulls).
struct AvroSchema {
  private indirect enum Node {
    case null, boolean, integer, float, double, string, bytes
    case fixed(Int64)
    /// Of bytes, or of a fixed number of them.
    case decimal(size: Int64?, scale: Int)
    /// A record of a scale and bytes: Debezium's VariableScaleDecimal.
    case scaledDecimal
    /// The symbols in quotes.
    case enumeration([OwnedSpan])
    case array(Int)
    case map(Int)
    case union([Int])
    /// The names in quotes, with a colon.
    case record([(name: OwnedSpan, node: Int)])
    /// A named type whose fields are still read.
    case open
  }

  struct Fault: Error {
    let problem: String
    let code: RejectCode

    init(_ problem: String, _ code: RejectCode = .unmappable) { (self.problem, self.code) = (problem, code) }
  }

  /// Types can contain themselves, so they refer to each other by number; first the ones without names of their own.
  private var nodes: [Node] = [.null, .boolean, .integer, .integer, .float, .double, .string, .bytes]
  private var names = [
    "null": 0, "boolean": 1, "int": 2, "long": 3, "float": 4, "double": 5, "string": 6, "bytes": 7,
  ]
  private var root = 0

  private static let mostDepth = 256

  /// - Parameter text: the schema as JSON.
  init(_ text: [UInt8]) throws(Fault) {
    guard let value = try? JSONDecoder().decode(ConfigurationValue.self, from: Data(text)) else {
      throw Fault("it is not JSON")
    }
    root = try add(value, in: "", 0)
  }

  private mutating func add(_ node: Node) -> Int {
    nodes.append(node)
    return nodes.count - 1
  }

  private mutating func add(_ value: ConfigurationValue, in space: String, _ depth: Int) throws(Fault) -> Int
  {
    guard depth < Self.mostDepth else { throw Fault("it is nested too deep") }
    switch value {
    case .string(let name):
      if let number = names[name] ?? names["\(space).\(name)"] ?? names[".\(name)"] { return number }
      throw Fault("it has no type \(name.debugDescription)")
    case .array(let branches):
      return add(
        .union(try branches.map { (branch) throws(Fault) in try add(branch, in: space, depth + 1) })
      )
    case .object(let members):
      guard let type = members["type"] else { throw Fault("a type has no member 'type'") }
      guard case .string(let kind) = type else { return try add(type, in: space, depth + 1) }
      return try add(kind, members, in: space, depth + 1)
    default: throw Fault("a type is \(value)")
    }
  }

  private mutating func add(
    _ kind: String,
    _ members: [String: ConfigurationValue],
    in space: String,
    _ depth: Int
  ) throws(Fault) -> Int {
    func list(_ member: String) throws(Fault) -> [ConfigurationValue] {
      if case .array(let elements)? = members[member] { return elements }
      throw Fault("a type '\(kind)' has no list '\(member)'")
    }
    var (number, name) = (-1, "")
    if ["record", "error", "enum", "fixed"].contains(kind) {
      name = members["name"]?.text ?? ""
      if !name.contains(".") { name = "\(members["namespace"]?.text ?? space).\(name)" }
      number = add(.open)
      names[name] = number
    }
    var node: Node
    switch kind {
    case "array": node = .array(try add(members["items"] ?? .null, in: space, depth))
    case "map": node = .map(try add(members["values"] ?? .null, in: space, depth))
    case "fixed":
      guard case .integer(let size)? = members["size"] else { throw Fault("a type 'fixed' has no size") }
      node = .fixed(size)
    case "enum":
      node = .enumeration(try list("symbols").map { JSONData(string: $0.text ?? "").description.ownedSpan })
    case "record", "error":
      let own = name.prefix(upTo: name.lastIndex(of: ".") ?? name.startIndex)
      node = .record(
        try list("fields").map { (field) throws(Fault) in
          guard case .object(let field) = field, let name = field["name"]?.text, let type = field["type"]
          else {
            throw Fault("a field has no name, or no type")
          }
          let number = try add(type, in: String(own), depth)
          return ((JSONData(string: name).description + ":").ownedSpan, number)
        }
      )
    default:
      let primitive = try add(.string(kind), in: space, depth)
      if primitive > 7 { return primitive }
      node = nodes[primitive]
    }
    let connectName = members["connect.name"]?.text
    if members["logicalType"]?.text == "decimal" || connectName == "org.apache.kafka.connect.data.Decimal" {
      var scale = members["scale"]
      if case .object(let parameters)? = members["connect.parameters"] {
        scale = scale ?? parameters["scale"]
      }
      let digits = scale?.text.flatMap { Int($0) } ?? 0
      if case .fixed(let size) = node { node = .decimal(size: size, scale: digits) }
      if case .bytes = node { node = .decimal(size: nil, scale: digits) }
    }
    if "io.debezium.data.VariableScaleDecimal" == connectName ?? name, case .record(let fields) = node,
      fields.map(\.name.span.text) == ["\"scale\":", "\"value\":"], case .integer = nodes[fields[0].node],
      case .bytes = nodes[fields[1].node]
    {
      node = .scaledDecimal
    }
    if number < 0 { return add(node) }
    nodes[number] = node
    return number
  }
}

extension AvroSchema {
  /// Appends a value as JSON.
  ///
  /// - Parameters:
  ///   - most: the most bytes of the text.
  ///   - placeholder: bytes that are not a decimal: Debezium's placeholder.
  func write(_ bytes: ByteSpan, to writer: ByteWriter, atMost most: Int, placeholder: [UInt8]) throws(Fault) {
    var reader = Reader(nodes: nodes, bytes: bytes, writer: writer, most: most, placeholder: placeholder)
    try reader.write(root, 0)
    guard reader.index == bytes.count else {
      throw Fault("it has \(bytes.count - reader.index) bytes more than the schema")
    }
  }

  private struct Reader {
    let nodes: [Node]
    let bytes: ByteSpan
    let writer: ByteWriter
    let most: Int
    let placeholder: [UInt8]
    var index = 0

    private var end: Fault { Fault("it ends too early") }
    private var tooLong: Fault {
      Fault("it has more bytes as JSON than limits.maxRecordBytes (\(most))", .limitExceeded)
    }

    /// Blocks can have any number of values without bytes, so the text that they become limits them.
    mutating func write(_ number: Int, _ depth: Int) throws(Fault) {
      guard depth < AvroSchema.mostDepth else { throw Fault("it is nested too deep") }
      guard writer.count <= most else { throw tooLong }
      switch nodes[number] {
      case .null: writer.append("null")
      case .boolean: writer.append(try take(1)[0] == 0 ? "false" : "true")
      case .integer: writer.append(decimal: Int(try long()))
      case .float: append(Float(bitPattern: try little(UInt32.self)))
      case .double: append(Double(bitPattern: try little(UInt64.self)))
      case .string: writer.append(quoted: try take(long()))
      case .bytes: append(base64: try take(long()))
      case .fixed(let size): append(base64: try take(size))
      case .decimal(let size, let scale):
        let count = if let size { size } else { try long() }
        append(try take(count), scale: scale)
      case .scaledDecimal:
        let scale = Int(try long())
        append(try take(long()), scale: scale)
      case .enumeration(let symbols): writer.append(symbols[try choice(of: symbols.count)].span)
      case .union(let branches): try write(branches[try choice(of: branches.count)], depth + 1)
      case .array(let each):
        writer.append("[")
        try forEachInBlocks { (reader) throws(Fault) in try reader.write(each, depth + 1) }
        writer.append("]")
      case .map(let each):
        writer.append("{")
        try forEachInBlocks { (reader) throws(Fault) in
          reader.writer.append(quoted: try reader.take(reader.long()))
          reader.writer.append(":")
          try reader.write(each, depth + 1)
        }
        writer.append("}")
      case .record(let fields):
        var separator = UInt8(ascii: "{")
        for field in fields {
          writer.append(separator)
          writer.append(field.name.span)
          try write(field.node, depth + 1)
          separator = UInt8(ascii: ",")
        }
        writer.append(fields.isEmpty ? "{}" : "}")
      case .open: throw Fault("a type of the schema is not complete")
      }
    }

    private mutating func take(_ count: Int64) throws(Fault) -> ByteSpan {
      guard count >= 0, count <= bytes.count - index else { throw end }
      index += Int(count)
      return ByteSpan(bytes.base + index - Int(count), Int(count))
    }

    private mutating func long() throws(Fault) -> Int64 {
      var (value, shift): (UInt64, UInt64) = (0, 0)
      while index < bytes.count, shift < 64 {
        let byte = bytes[index]
        index += 1
        value |= UInt64(byte & 0x7F) << shift
        if byte < 0x80 { return Int64(bitPattern: value >> 1) ^ -Int64(value & 1) }
        shift += 7
      }
      throw shift < 64 ? end : Fault("a number has more than 64 bits")
    }

    private mutating func little<Value: FixedWidthInteger>(_: Value.Type) throws(Fault) -> Value {
      let bytes = try take(Int64(MemoryLayout<Value>.size))
      return Value(littleEndian: bytes.rawBuffer.loadUnaligned(as: Value.self))
    }

    private mutating func choice(of count: Int) throws(Fault) -> Int {
      guard let number = Int(exactly: try long()), (0..<count).contains(number) else {
        throw Fault("it has a choice that the schema does not have")
      }
      return number
    }

    private mutating func forEachInBlocks(_ body: (inout Reader) throws(Fault) -> Void) throws(Fault) {
      var isFirst = true
      while true {
        var count = try long()
        if count == 0 { return }
        if count < 0 {
          _ = try long()
          count = 0 &- count
        }
        guard count > 0 else { throw Fault("a block has no number of values") }
        for _ in 0..<count {
          if !isFirst { writer.append(",") }
          isFirst = false
          try body(&self)
        }
      }
    }

    /// The shortest number that is the same when it is read; what JSON lacks as text, as JsonConverter does.
    private func append(_ value: some BinaryFloatingPoint & CustomStringConvertible) {
      if value.isFinite { return writer.append(string: value.description) }
      writer.append(value.isNaN ? "\"NaN\"" : value < 0 ? "\"-Infinity\"" : "\"Infinity\"")
    }

    private func append(base64 bytes: ByteSpan) {
      writer.append(UInt8(ascii: "\""))
      writer.append(string: Data(bytes.buffer).base64EncodedString())
      writer.append(UInt8(ascii: "\""))
    }

    private func append(_ bytes: ByteSpan, scale: Int) {
      let isNumber = !bytes.buffer.elementsEqual(placeholder)
      let number = isNumber ? Decimals.number(Array(bytes.buffer), scale: scale) : nil
      if let number { writer.append(string: number) } else { append(base64: bytes) }
    }
  }
}
