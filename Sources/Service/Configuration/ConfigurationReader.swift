import Spelling

/// Reads a configuration key by key, and records which keys were requested.
///
/// Each getter takes a key, its default and the allowed values. At the end, ``finish()`` rejects keys that are set but
/// were not requested, so that misspelt keys are reported.
public struct ConfigurationReader: Sendable {
  /// The requested keys, in order.
  public private(set) var knownKeys: [String] = []
  /// The values that were read, in order.
  public private(set) var readings: [ConfigurationReading] = []
  private var passedPrefixes: [String] = []
  private let entries: [String: ConfigurationEntry]
  private let isMasked: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - document: a document with resolved references.
  ///   - isMasked: whether a key's value is hidden in messages and listings.
  public init(
    _ document: ConfigurationDocument,
    isMasked: @escaping @Sendable (_ key: String) -> Bool = SecretKey.isMasked
  ) {
    entries = document.entries
    self.isMasked = isMasked
  }

  /// An integer. `1e3` and `5.0` count as integers.
  public mutating func integer(
    _ key: String,
    default defaultValue: Int64,
    in range: ClosedRange<Int64>
  ) throws(ConfigurationError) -> Int64 {
    guard let entry = ask(key) else { return note(key, defaultValue, .integer(defaultValue)) }
    let allowed = AllowedText.integer(range)
    switch entry.value {
    case .integer(let value) where range.contains(value): return note(key, value, .integer(value))
    case .integer, .number: throw refusal(.outOfRange, key, entry, allowed)
    default: throw refusal(.wrongType, key, entry, allowed)
    }
  }

  /// A number of milliseconds or bytes: a number, or text with a unit such as `100ms` or `8MiB`.
  public mutating func quantity(
    _ key: String,
    _ unit: ConfigurationUnit,
    default defaultValue: Int64,
    in range: ClosedRange<Int64>
  ) throws(ConfigurationError) -> Int64 {
    guard let entry = ask(key) else { return note(key, defaultValue, .integer(defaultValue), unit) }
    let allowed = unit.allowed(range)
    let number: Int64
    switch entry.value {
    case .integer(let value): number = value
    case .number: throw refusal(.outOfRange, key, entry, allowed)
    case .string(let text):
      guard let value = unit.number(text) else { throw refusal(.wrongType, key, entry, allowed) }
      number = value
    default: throw refusal(.wrongType, key, entry, allowed)
    }
    guard range.contains(number) else { throw refusal(.outOfRange, key, entry, allowed) }
    return note(key, number, .integer(number), unit)
  }

  /// A number of milliseconds or bytes, as `Int`.
  public mutating func quantity(
    _ key: String,
    _ unit: ConfigurationUnit,
    default defaultValue: Int,
    in range: ClosedRange<Int>
  ) throws(ConfigurationError) -> Int {
    let wide = Int64(range.lowerBound)...Int64(range.upperBound)
    return Int(try quantity(key, unit, default: Int64(defaultValue), in: wide))
  }

  /// An integer, as `Int`.
  public mutating func integer(
    _ key: String,
    default defaultValue: Int,
    in range: ClosedRange<Int>
  ) throws(ConfigurationError) -> Int {
    let wide = Int64(range.lowerBound)...Int64(range.upperBound)
    return Int(try integer(key, default: Int64(defaultValue), in: wide))
  }

  /// A number. Infinity and NaN are never in range.
  public mutating func number(
    _ key: String,
    default defaultValue: Double,
    in range: ClosedRange<Double>
  ) throws(ConfigurationError) -> Double {
    guard let entry = ask(key) else { return note(key, defaultValue, .number(defaultValue)) }
    let allowed = AllowedText.number(range)
    let value: Double
    switch entry.value {
    case .integer(let integer): value = Double(integer)
    case .number(let number): value = number
    default: throw refusal(.wrongType, key, entry, allowed)
    }
    guard value.isFinite, range.contains(value) else { throw refusal(.outOfRange, key, entry, allowed) }
    return note(key, value, .number(value))
  }

  /// `true` or `false`.
  public mutating func boolean(_ key: String, default defaultValue: Bool) throws(ConfigurationError) -> Bool {
    guard let entry = ask(key) else { return note(key, defaultValue, .boolean(defaultValue)) }
    guard case .boolean(let value) = entry.value else {
      throw refusal(.wrongType, key, entry, "true or false")
    }
    return note(key, value, .boolean(value))
  }

  /// A string.
  ///
  /// - Parameters:
  ///   - allowed: a description of the strings that `isAllowed` accepts.
  ///   - isAllowed: whether a string is valid.
  public mutating func string(
    _ key: String,
    default defaultValue: String,
    allowed: String = "a string",
    where isAllowed: (String) -> Bool = { _ in true }
  ) throws(ConfigurationError) -> String {
    guard let entry = ask(key) else { return note(key, defaultValue, .string(defaultValue)) }
    guard let value = entry.string else { throw refusal(.wrongType, key, entry, allowed) }
    guard isAllowed(value) else { throw refusal(.outOfRange, key, entry, allowed) }
    return note(key, value, .string(value))
  }

  /// A case of an enumeration, by its raw value.
  public mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ key: String,
    default defaultValue: Choice
  ) throws(ConfigurationError) -> Choice {
    let allowed = "one of " + Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    let name = try string(key, default: defaultValue.rawValue, allowed: allowed) {
      Choice(rawValue: $0) != nil
    }
    return Choice(rawValue: name) ?? defaultValue
  }

  /// All keys under a prefix that were not requested, as text and sorted by name: a section that is passed on
  /// unchanged.
  ///
  /// - Parameter prefix: the prefix with its dot, such as `kafka.`; the returned names lack it.
  /// - Throws: ``ConfigurationError`` if a value is null, a list or an empty object.
  public mutating func pairs(prefix: String) throws(ConfigurationError) -> [ConfigurationPair] {
    passedPrefixes.append(prefix)
    var pairs: [ConfigurationPair] = []
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) where key.hasPrefix(prefix) {
      if knownKeys.contains(key) { continue }
      guard let text = entry.unquotedText, key != prefix else {
        throw refusal(.wrongType, key, entry, "a string, a number, true or false")
      }
      pairs.append(ConfigurationPair(name: String(key.dropFirst(prefix.count)), value: text))
      _ = note(key, text, .string(text))
    }
    return pairs
  }

  /// Checks that every key in the document was requested.
  ///
  /// - Throws: ``ConfigurationError`` for the alphabetically first unknown key, with the nearest known one.
  public func finish() throws(ConfigurationError) {
    for (key, entry) in entries.sorted(by: { $0.key < $1.key }) where !isKnown(key, entry) {
      let hint = NearestName.suggestion(for: key, among: knownKeys)
      let prefixes = passedPrefixes.map { $0 + "*" }
      let allowed =
        hint.map { "did you mean \($0)?" }
        ?? "allowed: " + (knownKeys + prefixes).joined(separator: ", ")
      let value = shownOfUnknown(key, entry)
      throw ConfigurationError(
        .unknownKey,
        "\(key)\(value.map { " (\($0))" } ?? "") is not a known key; \(allowed)",
        place: entry.place,
        key: key,
        value: value,
        allowed: hint
      )
    }
  }

  /// The source of a key, or that it has its default; for errors that concern two keys.
  public func place(of key: String) -> String {
    entries[key]?.place ?? "default"
  }

  private func isKnown(_ key: String, _ entry: ConfigurationEntry) -> Bool {
    if knownKeys.contains(key) || passedPrefixes.contains(where: key.hasPrefix) { return true }
    guard case .object = entry.value else { return false }
    return knownKeys.contains { $0.hasPrefix(key + ".") } || passedPrefixes.contains(key + ".")
  }

  private mutating func ask(_ key: String) -> ConfigurationEntry? {
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

  private func refusal(
    _ code: ConfigurationError.Code,
    _ key: String,
    _ entry: ConfigurationEntry,
    _ allowed: String
  ) -> ConfigurationError {
    let shown = entry.shown(isMasked: isMasked(key))
    return ConfigurationError(
      code,
      "\(key) is \(shown); allowed: \(allowed)",
      place: entry.place,
      key: key,
      value: shown,
      allowed: allowed
    )
  }
}
