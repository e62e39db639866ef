import FoundationEssentials
import Glibc

/// Settings by dotted key, from a JSON5 file and from `--set KEY=VALUE`.
///
/// `{ coalesce: { window: 5 } }` and `{ "coalesce.window": 5 }` mean the same. A key that is set twice in one
/// file, in either form, is an error; a `--set` replaces what the file or an earlier `--set` says. An empty
/// object is kept as an entry of its own, so that its name can be checked.
///
/// Files are read by `JSONDecoder` with `allowsJSON5`. What it does not tell is found by a second look: the
/// line of a mistake, and duplicate keys, of which it silently takes the first.
public struct ConfigurationDocument: Sendable, Equatable {
  /// All settings.
  public private(set) var entries: [String: ConfigurationEntry] = [:]

  /// A document without settings.
  public init() {}

  /// Reads JSON5 text.
  ///
  /// - Parameter name: What error messages call the text, such as its file name.
  public init(text: String, name: String) throws(ConfigurationError) {
    let outline = ConfigurationOutline(text)
    let value: ConfigurationValue
    do {
      value = try Self.decode(text, outline)
    } catch {
      throw Self.syntaxError(error, outline: outline, name: name)
    }
    if let duplicate = outline.duplicate {
      throw ConfigurationError(
        .duplicateKey,
        "\(duplicate.key) is set twice, first in line \(duplicate.firstLine); remove one of the two",
        place: "\(name):\(duplicate.line)",
        key: duplicate.key
      )
    }
    guard case .object(let members) = value else {
      throw ConfigurationError(
        .syntax,
        "the configuration is \(value); it must be an object: { key: value, … }",
        place: name
      )
    }
    insert(members, prefix: "") { key in outline.lines[key].map { "\(name):\($0)" } ?? name }
  }

  /// Reads a JSON5 file.
  public init(file: String) throws(ConfigurationError) {
    let bytes = try Self.contents(of: file)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ConfigurationError(.syntax, "the file is not UTF-8; save it as UTF-8", place: file)
    }
    try self.init(text: text, name: file)
  }

  /// Applies one `--set`.
  ///
  /// The value is read as JSON5, and taken as a bare string where it is none. An object sets each key in it.
  ///
  /// - Parameter assignment: `KEY=VALUE`; the first `=` divides.
  public mutating func set(_ assignment: String) throws(ConfigurationError) {
    let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw ConfigurationError(
        .assignment,
        "'\(assignment)' is not KEY=VALUE, as in coalesce.window=100",
        place: "--set"
      )
    }
    let key = String(parts[0])
    let spelling = String(parts[1])
    let outline = ConfigurationOutline(spelling)
    let value = (try? Self.decode(spelling, outline)) ?? .string(spelling)
    if case .object = value, let duplicate = outline.duplicate {
      throw ConfigurationError(
        .duplicateKey,
        "\(key).\(duplicate.key) is set twice in '\(assignment)'; remove one of the two",
        place: "--set",
        key: "\(key).\(duplicate.key)"
      )
    }
    if case .object(let members) = value, !members.isEmpty {
      insert(members, prefix: key + ".") { _ in "--set" }
    } else {
      entries[key] = ConfigurationEntry(value: value, place: "--set", spelling: spelling)
    }
  }

  private mutating func insert(
    _ members: [String: ConfigurationValue],
    prefix: String,
    place: (_ key: String) -> String
  ) {
    for (name, value) in members {
      let key = prefix + name
      if case .object(let inner) = value, !inner.isEmpty {
        insert(inner, prefix: key + ".", place: place)
      } else {
        entries[key] = ConfigurationEntry(value: value, place: place(key))
      }
    }
  }

  private static func decode(_ text: String, _ outline: ConfigurationOutline) throws -> ConfigurationValue {
    if outline.isTooDeep, let fault = outline.fault { throw fault }
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    // It looks at the byte after a number, even where the text ends, and stops the process if that is a strange one.
    return try decoder.decode(ConfigurationValue.self, from: Data((text + "\n").utf8))
  }

  private static func syntaxError(
    _ error: any Error,
    outline: ConfigurationOutline,
    name: String
  ) -> ConfigurationError {
    if let fault = outline.fault {
      return ConfigurationError(.syntax, fault.message, place: "\(name):\(fault.line)")
    }
    var path: [any CodingKey] = []
    switch error {
    case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context):
      path = context.codingPath
    default: break
    }
    let key = path.map(\.stringValue).joined(separator: ".")
    guard !key.isEmpty else { return ConfigurationError(.syntax, "the text is not valid JSON5", place: name) }
    let place = outline.lines[key].map { "\(name):\($0)" } ?? name
    return ConfigurationError(.syntax, "the value of \(key) is not valid JSON5", place: place, key: key)
  }

  private static func contents(of file: String) throws(ConfigurationError) -> [UInt8] {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(file) }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count == 0 { return bytes }
      if count > 0 {
        bytes += chunk[..<count]
      } else if errno != EINTR {
        throw unreadable(file)
      }
    }
  }

  private static func unreadable(_ file: String) -> ConfigurationError {
    ConfigurationError(
      .unreadable,
      "cannot read the configuration: \(String(cString: strerror(errno)))",
      place: file
    )
  }
}
