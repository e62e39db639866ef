import FoundationEssentials
import Glibc
import OperatingSystem

/// Settings by dotted key, from a JSON5 file, environment variables and `--set KEY=VALUE`.
///
/// `{ coalesce: { window: 5 } }` and `{ "coalesce.window": 5 }` are equivalent. Setting a key twice in one file, in
/// either form, is an error; a later source overrides earlier ones. An empty object is kept as an entry of its own, so
/// that its name can be checked.
///
/// A string with references (`${env:NAME}`, `${file:PATH}`) stays unchanged until ``resolve(variable:)``.
///
/// `JSONDecoder` reads files, with `allowsJSON5`. A second pass finds the line of a mistake, which it does not
/// report, and duplicate keys, of which it silently uses the first.
package struct ConfigurationDocument: Sendable, Equatable {
  /// All settings, by key.
  package private(set) var entries: [String: ConfigurationEntry] = [:]

  /// A document without settings.
  package init() {}

  /// Parses JSON5 text.
  ///
  /// - Parameter name: the name of the text in error messages, such as its file name.
  package init(text: String, name: String) throws(ConfigurationError) {
    let outline = ConfigurationOutline(text)
    let value: ConfigurationValue
    do {
      value = try Self.decode(text, outline)
    } catch {
      throw Self.syntaxError(error, outline: outline, name: name)
    }
    if let duplicate = outline.duplicate {
      throw ConfigurationError(
        "\(duplicate.key) is set twice, first in line \(duplicate.firstLine); remove one of the two",
        place: "\(name):\(duplicate.line)"
      )
    }
    guard case .object(let members) = value else {
      throw ConfigurationError(
        "the configuration is \(value); it must be an object: { key: value, … }",
        place: name
      )
    }
    insert(members, prefix: "") { key in .file(name, line: outline.lines[key]) }
  }

  /// Reads a JSON5 file.
  ///
  /// - Throws: ``ConfigurationError``, also if the file contains a secret and other users can read it.
  package init(file: String) throws(ConfigurationError) {
    let (text, permissions): (String?, FilePermissions)
    do throws(FileError) {
      (text, permissions) = try WholeFile.reading(file) { descriptor throws(FileError) in
        let bytes = try WholeFile.bytes(of: descriptor, file, atMost: .max) ?? []
        return (String(validating: bytes, as: UTF8.self), try FilePermissions(descriptor, file))
      }
    } catch {
      let reason = String(cString: strerror(error.number))
      throw ConfigurationError("cannot read the configuration: \(reason)", place: file)
    }
    guard let text else {
      throw ConfigurationError("the file is not UTF-8; save it as UTF-8", place: file)
    }
    try self.init(text: text, name: file)
    try checkSecrets(file, permissions)
  }

  /// Rejects secrets in a file that other users can read.
  private func checkSecrets(_ file: String, _ permissions: FilePermissions) throws(ConfigurationError) {
    guard let fault = permissions.fault(file, user: geteuid()) else { return }
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) where SecretKey.isSecret(key) {
      guard let text = entry.unquotedText, !text.isEmpty, !ConfigurationReferences.areIn(text) else {
        continue
      }
      throw ConfigurationError(
        "\(key) is written here, but \(fault), or write ${file:PATH} or ${env:NAME} instead of the secret",
        place: entry.place
      )
    }
  }

  /// Replaces references in all strings: `${env:NAME}` and `${file:PATH}` by their values, and `$${` by `${`.
  ///
  /// - Parameter variable: the value of an environment variable; nil if it is not set.
  /// - Throws: ``ConfigurationError`` for the alphabetically first key with a reference that cannot be resolved.
  package mutating func resolve(variable: @escaping (String) -> String?) throws(ConfigurationError) {
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) {
      guard case .string(let text) = entry.value else { continue }
      let references = ConfigurationReferences(key: key, place: entry.place, variable: variable)
      guard let expanded = try references.expand(text) else { continue }
      entries[key] =
        expanded.hasReference
        ? ConfigurationEntry(text: expanded.text, source: entry.source, reference: text)
        : ConfigurationEntry(value: .string(expanded.text), source: entry.source)
    }
  }

  /// Sets a key to unquoted text, such as an environment variable: numbers, `true` and `false` are parsed, and
  /// everything else is a string.
  package mutating func set(_ key: String, toText text: String, from source: ConfigurationSource) {
    entries[key] = ConfigurationEntry(text: text, source: source)
  }

  /// Applies one `--set`.
  ///
  /// The value is parsed as JSON5, and is a string if that fails. An object sets each key in it.
  ///
  /// - Parameter assignment: `KEY=VALUE`; the first `=` separates them.
  package mutating func set(_ assignment: String) throws(ConfigurationError) {
    let parts = assignment.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else {
      throw ConfigurationError(
        "'\(Self.beginning(of: assignment))' is not KEY=VALUE, as in coalesce.window=100",
        place: "--set"
      )
    }
    let key = String(parts[0])
    let spelling = String(parts[1])
    let outline = ConfigurationOutline(spelling)
    let value = (try? Self.decode(spelling, outline)) ?? .string(spelling)
    if value != .string(spelling), let duplicate = outline.duplicate {
      throw ConfigurationError(
        "\("\(key).\(duplicate.key)".replacing(".[", with: "[")) is set twice in one --set; remove one of the two",
        place: "--set"
      )
    }
    if case .object(let members) = value, !members.isEmpty {
      insert(members, prefix: key + ".") { _ in .assignment }
    } else {
      entries[key] = ConfigurationEntry(value: value, source: .assignment, spelling: spelling)
    }
  }

  /// The part of an invalid assignment that may be shown, because the rest could contain a secret.
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

  /// Parses a text as JSON5; nil if it is not valid.
  package static func value(of text: String) -> ConfigurationValue? {
    try? decode(text, ConfigurationOutline(text))
  }

  private static func decode(_ text: String, _ outline: ConfigurationOutline) throws -> ConfigurationValue {
    if outline.isTooDeep, let fault = outline.fault { throw fault }
    let decoder = JSONDecoder()
    decoder.allowsJSON5 = true
    // The decoder reads the byte after a number even at the end of the text, and traps on some values of it. A line
    // feed is safe.
    return try decoder.decode(ConfigurationValue.self, from: Data((text + "\n").utf8))
  }

  private static func syntaxError(
    _ error: any Error,
    outline: ConfigurationOutline,
    name: String
  ) -> ConfigurationError {
    if let fault = outline.fault {
      return ConfigurationError(fault.message, place: "\(name):\(fault.line)")
    }
    let path =
      switch error {
      case DecodingError.dataCorrupted(let context), DecodingError.typeMismatch(_, let context):
        context.codingPath
      default: [any CodingKey]()
      }
    let key = path.map(\.stringValue).joined(separator: ".")
    guard !key.isEmpty else { return ConfigurationError("the text is not valid JSON5", place: name) }
    let place = outline.lines[key].map { "\(name):\($0)" } ?? name
    return ConfigurationError("the value of \(key) is not valid JSON5", place: place)
  }
}
