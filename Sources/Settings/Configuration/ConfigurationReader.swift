import Spelling

/// Reads a configuration key by key, and records which keys were requested.
///
/// Each method takes a key, its default and the allowed values. At the end, ``finish()`` rejects keys that are set but
/// were not requested, so that misspelt keys are reported.
package struct ConfigurationReader: Sendable {
  /// The requested keys, in order.
  package private(set) var knownKeys: [String] = []
  /// The values that were read, in order.
  package private(set) var readings: [ConfigurationReading] = []
  private var passedPrefixes: [String] = []
  private var allowed: [String: String] = [:]
  /// Lines of the form `key: sentence`.
  private var sentences = ""
  private let entries: [String: ConfigurationEntry]
  private let isMasked: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - document: a document with resolved references.
  ///   - isMasked: whether a key's value is hidden in messages and listings.
  package init(
    _ document: ConfigurationDocument,
    isMasked: @escaping @Sendable (_ key: String) -> Bool = SecretKey.isMasked
  ) {
    entries = document.entries
    self.isMasked = isMasked
  }

  /// Adds lines of the form `key: sentence`.
  package mutating func describe(_ lines: String) { sentences += lines + "\n" }

  /// The requested keys and prefixes. Their values are the defaults if the document is empty.
  package var declarations: [ConfigurationKey] {
    let values = Dictionary(readings.map { ($0.key, $0.value) }) { $1 }
    let lines = sentences.split(separator: "\n")
    return (knownKeys + passedPrefixes.map { $0 + "*" }).map { key in
      let sentence = lines.first { $0.hasPrefix(key + ": ") }?.dropFirst(key.count + 2) ?? ""
      return ConfigurationKey(key, values[key], allowed: allowed[key] ?? "", sentence: String(sentence))
    }
  }

  /// The maximum of numeric settings: the largest integer that every JSON reader represents exactly. It is 285,000
  /// years in milliseconds and 9 PB in bytes, so it can stand for "never" and "no limit".
  package static let greatest = 9_007_199_254_740_991

  /// Reads an integer into a property, which holds the default. `1e3` and `5.0` count as integers; with a unit, so does
  /// text such as `100ms` or `8MiB`.
  package mutating func read<Value: FixedWidthInteger>(
    _ key: String,
    _ unit: ConfigurationUnit? = nil,
    into value: inout Value,
    from least: Value,
    to greatest: Value = Value(greatest)
  ) throws(ConfigurationError) {
    let range = AllowedText.integer(Int64(least)...Int64(greatest))
    if let entry = ask(key, range + (unit?.allowed ?? "")) {
      var number: Int64?
      if case .integer(let integer) = entry.value { number = integer }
      if let unit, case .string(let text) = entry.value { number = unit.number(text) }
      guard let number, let given = Value(exactly: number), (least...greatest).contains(given) else {
        throw refusal(key, entry)
      }
      value = given
    }
    _ = note(key, value, .integer(Int64(value)), unit)
  }

  /// Reads a fraction or ratio, 0 or more, into a property, which holds the default.
  package mutating func read(_ key: String, into value: inout Double) throws(ConfigurationError) {
    let range = 0...Double.greatestFiniteMagnitude
    if let entry = ask(key, AllowedText.number(range)) {
      let given: Double? =
        switch entry.value {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        default: nil
        }
      // Infinity and NaN are not in the range.
      guard let given, range.contains(given) else { throw refusal(key, entry) }
      value = given
    }
    _ = note(key, value, .number(value))
  }

  /// `true` or `false`.
  package mutating func boolean(_ key: String, default defaultValue: Bool) throws(ConfigurationError) -> Bool
  {
    guard let entry = ask(key, "true or false") else {
      return note(key, defaultValue, .boolean(defaultValue))
    }
    guard case .boolean(let value) = entry.value else { throw refusal(key, entry) }
    return note(key, value, .boolean(value))
  }

  /// A string.
  ///
  /// - Parameters:
  ///   - allowed: a description of the strings that `isAllowed` accepts.
  ///   - isAllowed: whether a string is valid.
  package mutating func string(
    _ key: String,
    default defaultValue: String,
    allowed: String = "a string",
    where isAllowed: (String) -> Bool = { _ in true }
  ) throws(ConfigurationError) -> String {
    guard let entry = ask(key, allowed) else { return note(key, defaultValue, .string(defaultValue)) }
    guard let value = entry.string, isAllowed(value) else { throw refusal(key, entry) }
    return note(key, value, .string(value))
  }

  /// A case of an enumeration, by its raw value.
  package mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: String,
    default defaultValue: Choice
  ) throws(ConfigurationError) -> Choice {
    let allowed = "one of " + Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    let name = try string(key, default: defaultValue.rawValue, allowed: allowed) {
      Choice(rawValue: $0) != nil
    }
    return Choice(rawValue: name) ?? defaultValue
  }

  /// A list of objects, empty by default.
  package mutating func list(_ key: String) throws(ConfigurationError) -> [ConfigurationValue] {
    guard let entry = ask(key, "a list of objects") else { return note(key, [], .array([])) }
    guard case .array(let values) = entry.value else { throw refusal(key, entry) }
    return note(key, values, entry.value)
  }

  /// A list of strings that `make` accepts, empty by default. One string is a list with this string, or empty.
  package mutating func strings<Element>(
    _ key: String,
    allowed: String,
    _ make: (String) -> Element?
  ) throws(ConfigurationError) -> [Element] {
    guard let entry = ask(key, allowed) else { return note(key, [], .array([])) }
    var value = entry.value
    // A bracket begins a list on a command line; with a mistake in it, the list arrives as a string.
    if case .array = value {
    } else if let text = entry.string, !text.hasPrefix("[") {
      value = .array(text.isEmpty ? [] : [.string(text)])
    }
    guard case .array(let values) = value else { throw refusal(key, entry) }
    let elements = values.map { $0.text.flatMap(make) }
    guard let wrong = elements.firstIndex(where: { $0 == nil }) else {
      return note(key, elements.compactMap(\.self), value)
    }
    let message = "\(key)[\(wrong)] is \(values[wrong].description); allowed: \(allowed)"
    throw ConfigurationError(message, place: entry.place)
  }

  /// All keys under a prefix that were not requested, as text and sorted by name: a section that is passed on
  /// unchanged.
  ///
  /// - Parameter prefix: the prefix with its dot, such as `kafka.`; the returned names lack it.
  /// - Throws: ``ConfigurationError`` if a value is null, a list or an empty object.
  package mutating func pairs(prefix: String) throws(ConfigurationError) -> [ConfigurationPair] {
    passedPrefixes.append(prefix)
    var pairs: [ConfigurationPair] = []
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) where key.hasPrefix(prefix) {
      if knownKeys.contains(key) { continue }
      guard let text = entry.unquotedText, key != prefix else {
        allowed[key] = "a string, a number, true or false"
        throw refusal(key, entry)
      }
      pairs.append(ConfigurationPair(name: String(key.dropFirst(prefix.count)), value: text))
      _ = note(key, text, .string(text))
    }
    return pairs
  }

  /// Checks that every key in the document was requested.
  ///
  /// - Throws: ``ConfigurationError`` for the alphabetically first unknown key, with the nearest known one.
  package func finish() throws(ConfigurationError) {
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) where !isKnown(key, entry) {
      let hint = NearestName.suggestion(for: key, among: knownKeys)
      let prefixes = passedPrefixes.map { $0 + "*" }
      let allowed =
        hint.map { "did you mean \($0)?" }
        ?? "allowed: " + (knownKeys + prefixes).joined(separator: ", ")
      let value = shownOfUnknown(key, entry)
      throw ConfigurationError(
        "\(key)\(value.map { " (\($0))" } ?? "") is not a known key; \(allowed)",
        place: entry.place
      )
    }
  }

  /// The source of a key, or that it has its default; for errors that concern two keys.
  package func place(of key: String) -> String {
    entries[key]?.place ?? "default"
  }

  private func isKnown(_ key: String, _ entry: ConfigurationEntry) -> Bool {
    if knownKeys.contains(key) || passedPrefixes.contains(where: key.hasPrefix) { return true }
    guard case .object = entry.value else { return false }
    return knownKeys.contains { $0.hasPrefix(key + ".") } || passedPrefixes.contains(key + ".")
  }

  private mutating func ask(_ key: String, _ allowed: String) -> ConfigurationEntry? {
    self.allowed[key] = allowed
    if !knownKeys.contains(key) { knownKeys.append(key) }
    return entries[key]
  }

  /// The value of an unknown key for a message; nil for a string, which could be a secret.
  private func shownOfUnknown(_ key: String, _ entry: ConfigurationEntry) -> String? {
    if case .string = entry.value { return nil }
    return isMasked(key) || entry.reference != nil ? nil : entry.value.description
  }

  private mutating func note<Value>(
    _ key: String,
    _ value: Value,
    _ read: ConfigurationValue,
    _ unit: ConfigurationUnit? = nil
  ) -> Value {
    let entry = entries[key]
    readings.append(
      ConfigurationReading(
        key: key,
        value: read,
        unit: unit,
        source: entry?.source ?? .defaultValue,
        isMasked: isMasked(key),
        reference: entry?.reference.flatMap { ConfigurationReferences.isOne($0) ? $0 : nil }
      )
    )
    return value
  }

  private func refusal(_ key: String, _ entry: ConfigurationEntry) -> ConfigurationError {
    let shown = entry.shown(isMasked: isMasked(key))
    return ConfigurationError("\(key) is \(shown); allowed: \(allowed[key] ?? "")", place: entry.place)
  }
}

/// A key as it is declared, or the pattern of keys that are passed on.
package struct ConfigurationKey: Sendable {
  package let name: String
  /// Nil for a pattern.
  package let value: ConfigurationValue?
  package let allowed, sentence: String

  fileprivate init(_ name: String, _ value: ConfigurationValue?, allowed: String, sentence: String) {
    (self.name, self.value, self.allowed, self.sentence) = (name, value, allowed, sentence)
  }
}

/// The effective value of one key, and its source.
package struct ConfigurationReading: Sendable, Equatable {
  package let key: String
  /// The value, in the key's unit if it has one.
  package let value: ConfigurationValue
  /// The unit of a number; nil for other values.
  package let unit: ConfigurationUnit?
  package let source: ConfigurationSource
  /// Whether the value is hidden in messages and listings.
  package let isMasked: Bool
  /// The reference that provides the whole value, in its original form; nil if there is none.
  package let reference: String?

  /// The value for display. A hidden value appears as its reference, if it has one.
  package var shown: String {
    if isMasked, value != .string(""), value != .array([]) { return reference ?? ConfigurationEntry.masked }
    if case .number(let number) = value { return AllowedText.text(number) }
    return value.description
  }
}

/// Describes the allowed values of a key, for error messages.
enum AllowedText {
  static func integer(_ range: ClosedRange<Int64>) -> String {
    "a whole number from \(range.lowerBound) to \(range.upperBound)"
  }

  static func number(_ range: ClosedRange<Double>) -> String {
    let least = text(range.lowerBound)
    return range.upperBound == .greatestFiniteMagnitude
      ? "a finite number, \(least) or more" : "a number from \(least) to \(text(range.upperBound))"
  }

  /// A number; integers without `.0`.
  static func text(_ number: Double) -> String {
    Int64(exactly: number).map(String.init) ?? number.description
  }
}

/// The unit of a numeric setting, and the units accepted for it.
package enum ConfigurationUnit: String, Sendable, CaseIterable {
  case milliseconds
  case bytes

  /// The accepted units, by name, in milliseconds or bytes.
  private var factors: [String: Int64] {
    switch self {
    case .milliseconds: ["ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000]
    case .bytes:
      [
        "B": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000, "TB": 1_000_000_000_000,
        "KiB": 1 << 10, "kiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
      ]
    }
  }

  /// Parses a number with a unit, such as `100ms`, `1.5s` or `8 MiB`.
  ///
  /// - Returns: the number in milliseconds or bytes; nil if the text is invalid or the result is not an integer.
  package func number(_ text: String) -> Int64? {
    let number = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
    var unit = text[number.endIndex...]
    if unit.first == " " { unit = unit.dropFirst() }
    guard let factor = factors[String(unit)] else { return nil }
    let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = Int64(parts[0]) else { return nil }
    var (result, overflow) = whole.multipliedReportingOverflow(by: factor)
    if parts.count == 2 {
      guard let share = Self.share(parts[1], of: factor) else { return nil }
      let (sum, isTooLarge) = result.addingReportingOverflow(share)
      (result, overflow) = (sum, overflow || isTooLarge)
    }
    return overflow ? nil : result
  }

  /// Converts the digits after a decimal point to the smallest unit; nil if the result is not an integer.
  private static func share(_ digits: Substring, of factor: Int64) -> Int64? {
    guard (1...9).contains(digits.count), let numerator = Int64(digits) else { return nil }
    let denominator = (0..<digits.count).reduce(Int64(1)) { power, _ in power * 10 }
    let (product, overflow) = numerator.multipliedReportingOverflow(by: factor)
    return overflow || product % denominator != 0 ? nil : product / denominator
  }

  /// The values that are allowed in addition to a range of numbers.
  fileprivate var allowed: String {
    switch self {
    case .milliseconds: " (milliseconds), or a time with its unit, as in 250ms, 2s, 5m or 1h"
    case .bytes: " (bytes), or a size with its unit, as in 64kB or 8MiB"
    }
  }
}
