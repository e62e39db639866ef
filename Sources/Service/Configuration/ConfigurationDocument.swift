import FoundationEssentials
import Glibc

/// Settings by dotted key, from a JSON5 file, environment variables and `--set KEY=VALUE`.
///
/// `{ coalesce: { window: 5 } }` and `{ "coalesce.window": 5 }` mean the same. A key that is set twice in one
/// file, in either form, is an error; what is set later replaces what was there. An empty
/// object is kept as an entry of its own, so that its name can be checked.
///
/// A string in which others are referred to (`${env:NAME}`, `${file:PATH}`) is as it was written until
/// ``resolve(variable:)``.
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
    insert(members, prefix: "") { key in .file(name, line: outline.lines[key]) }
  }

  /// Reads a JSON5 file.
  ///
  /// - Throws: ``ConfigurationError``, also if the file has a secret in it and others may read it.
  public init(file: String) throws(ConfigurationError) {
    let (bytes, permissions) = try Self.contents(of: file)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw ConfigurationError(.syntax, "the file is not UTF-8; save it as UTF-8", place: file)
    }
    try self.init(text: text, name: file)
    try checkSecrets(file, permissions)
  }

  /// Refuses secrets in a file that others may read.
  private func checkSecrets(_ file: String, _ permissions: FilePermissions) throws(ConfigurationError) {
    guard let fault = permissions.fault(file, user: geteuid()) else { return }
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) where SecretKey.isSecret(key) {
      guard let text = entry.unquotedText, !text.isEmpty, !ConfigurationReferences.areIn(text) else {
        continue
      }
      throw ConfigurationError(
        .exposed,
        "\(key) is written here, but \(fault), or write ${file:PATH} or ${env:NAME} instead of the secret",
        place: entry.place,
        key: key
      )
    }
  }

  /// Replaces `${env:NAME}` and `${file:PATH}` in all strings by what they stand for, and `$${` by `${`.
  ///
  /// - Parameter variable: the value of an environment variable; nil if it is not set.
  /// - Throws: ``ConfigurationError`` for the first key, in alphabetical order, whose value stands for nothing.
  public mutating func resolve(variable: (String) -> String?) throws(ConfigurationError) {
    try withoutActuallyEscaping(variable) { variable throws(ConfigurationError) in
      let references = ConfigurationReferences(variable: variable)
      for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
        guard case .string(let text) = entry.value else { continue }
        guard let expanded = try references.expand(text, key: key, place: entry.place) else { continue }
        entries[key] =
          expanded.hasReference
          ? ConfigurationEntry(text: expanded.text, source: entry.source, reference: text)
          : ConfigurationEntry(value: .string(expanded.text), source: entry.source)
      }
    }
  }

  /// Sets a key to text that needs no quotes, such as that of an environment variable: a number, `true` and `false` are
  /// what they look like, and all else is text.
  public mutating func set(_ key: String, toText text: String, from source: ConfigurationSource) {
    entries[key] = ConfigurationEntry(text: text, source: source)
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
        "'\(Self.beginning(of: assignment))' is not KEY=VALUE, as in coalesce.window=100",
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
        "\(key).\(duplicate.key) is set twice in one --set; remove one of the two",
        place: "--set",
        key: "\(key).\(duplicate.key)"
      )
    }
    if case .object(let members) = value, !members.isEmpty {
      insert(members, prefix: key + ".") { _ in .assignment }
    } else {
      entries[key] = ConfigurationEntry(value: value, source: .assignment, spelling: spelling)
    }
  }

  /// What may be shown of something that should have been an assignment, and might have a secret in it.
  private static func beginning(of assignment: String) -> String {
    let isKey: (Character) -> Bool = { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_=".contains($0)) }
    let key = assignment.prefix(while: isKey)
    return key.count == assignment.count ? assignment : key + "…"
  }

  private mutating func insert(
    _ members: [String: ConfigurationValue],
    prefix: String,
    source: (_ key: String) -> ConfigurationSource
  ) {
    for (name, value) in members {
      let key = prefix + name
      if case .object(let inner) = value, !inner.isEmpty {
        insert(inner, prefix: key + ".", source: source)
      } else {
        entries[key] = ConfigurationEntry(value: value, source: source(key))
      }
    }
  }

  /// What a text means as JSON5; nil if it is none.
  static func value(of text: String) -> ConfigurationValue? {
    try? decode(text, ConfigurationOutline(text))
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

  private static func contents(
    of file: String
  ) throws(ConfigurationError) -> ([UInt8], FilePermissions) {
    let descriptor = open(file, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw unreadable(file) }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &chunk, chunk.count)
      if count == 0 { return (bytes, FilePermissions(status)) }
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
