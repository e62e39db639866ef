import Feed
package import Settings
import Spelling

/// An object of a mapping, with the table of its fields as docs/ingest.md has it: names, values, default, meaning.
protocol MappingObject {
  static var table: String { get }
  init(_ read: MappingReader) throws(ConfigurationError)
}

/// Reads an object of a mapping by the table of its fields.
struct MappingReader {
  /// The object's name, such as `ingest.sources[0]`, and the source of the setting that it is in.
  let name: String
  let source: String
  private let members: [String: ConfigurationValue]
  private var fields: [String: (values: String, initial: String)] = [:]

  private static let longestFound = 100

  /// - Returns: nil for a value that is not allowed.
  typealias Read<Value> = (ConfigurationValue) -> Value?

  init(
    _ value: ConfigurationValue,
    _ name: String,
    _ source: String,
    _ table: String
  ) throws(ConfigurationError) {
    (self.name, self.source) = (name, source)
    guard case .object(let members) = value else {
      throw ConfigurationError("\(name) is \(value); allowed: an object", place: source)
    }
    self.members = members
    for row in table.replacing("`", with: "").split(separator: "\n") {
      let cells = row.split(separator: "|").map { String($0.dropFirst().dropLast()) }
      for name in cells[0].split(separator: ", ") { fields[String(name)] = (cells[1], cells[2]) }
    }
    for name in members.keys.sorted() where fields[name] == nil {
      let hint = NearestName.suggestion(for: name, among: fields.keys).map { "did you mean \($0)?" }
      let names = "allowed: " + fields.keys.sorted().joined(separator: ", ")
      throw error(name, "is not a known field; \(hint ?? names)")
    }
  }

  /// A field that is required, or has a default.
  func callAsFunction<Value>(_ field: String, _ read: Read<Value>) throws(ConfigurationError) -> Value {
    let initial = (fields[field]?.initial).flatMap(ConfigurationDocument.value(of:))
    guard let value = members[field] ?? initial else { throw refusal(field, "missing") }
    guard let result = read(value) else { throw refusal(field, value.json) }
    return result
  }

  /// A field that need not be there.
  func optional<Value>(_ field: String, _ read: Read<Value>) throws(ConfigurationError) -> Value? {
    members[field] == nil ? nil : try self(field, read)
  }

  /// Refuses fields that another one excludes.
  func refuse(_ excluded: [String], because reason: String) throws(ConfigurationError) {
    for field in excluded where members[field] != nil { throw error(field, reason) }
  }

  /// A field that is an object whose members are named by pointers into the row.
  func pointers<Value>(
    _ field: String,
    _ read: (JSONPointer, ConfigurationValue) -> Value?
  ) throws(ConfigurationError) -> [IngestMember<Value>] {
    let members = try self(field) { if case .object(let members) = $0 { members } else { nil } }
    var result: [IngestMember<Value>] = []
    for (text, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let pointer = JSONPointer(text), let read = read(pointer, value) else {
        throw refusal(field, ConfigurationValue.object([text: value]).json)
      }
      result.append(IngestMember(pointer: pointer, value: read))
    }
    return result
  }

  /// A field that is a list of objects.
  func objects<Object: MappingObject>(
    _ field: String,
    _ counts: ClosedRange<Int> = 0...Int.max
  ) throws(ConfigurationError) -> [Object] {
    let values = try optional(field) { $0.array.flatMap { counts.contains($0.count) ? $0 : nil } }
    return try Self.objects(values ?? [], "\(name).\(field)", source)
  }

  static func objects<Object: MappingObject>(
    _ values: [ConfigurationValue],
    _ name: String,
    _ source: String
  ) throws(ConfigurationError) -> [Object] {
    var objects: [Object] = []
    for (index, value) in values.enumerated() {
      objects.append(try Object(MappingReader(value, "\(name)[\(index)]", source, Object.table)))
    }
    return objects
  }

  func refusal(_ field: String, _ found: String, allowed: String? = nil) -> ConfigurationError {
    let found = found.count > Self.longestFound ? found.prefix(Self.longestFound) + "…" : found
    return error(field, "is \(found); allowed: \(allowed ?? fields[field]?.values ?? "")")
  }

  func error(_ field: String, _ problem: String) -> ConfigurationError {
    ConfigurationError("\(name).\(field) \(problem)", place: source)
  }
}

extension ConfigurationValue {
  var string: String? { string { _ in true } }
  var array: [ConfigurationValue]? { if case .array(let values) = self { values } else { nil } }

  func string(where isAllowed: (String) -> Bool) -> String? {
    if case .string(let text) = self, isAllowed(text) { text } else { nil }
  }

  func integer(in range: ClosedRange<Int>) -> Int? {
    if case .integer(let number) = self, let number = Int(exactly: number), range.contains(number) {
      number
    } else {
      nil
    }
  }

  /// The value as JSON, which has no infinity and no NaN.
  package var json: String {
    switch self {
    case .null, .boolean, .integer: description
    // Without an exponent, which not every reader accepts in an integer.
    case .number(let number): Int64(exactly: number).map(String.init) ?? description
    case .string(let text): JSONData(string: text).description
    case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(Self.string($0.key).json):\($0.value.json)" }
        .joined(separator: ",") + "}"
    }
  }
}
