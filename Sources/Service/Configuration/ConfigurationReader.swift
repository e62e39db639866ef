/// Reads a configuration key by key, and remembers which keys it was asked for.
///
/// Every getter takes a key, its default and what is allowed. When all are read, ``finish()`` refuses what was
/// set but never asked for: a misspelt key is found instead of being ignored.
public struct ConfigurationReader: Sendable {
  /// The keys asked for, in that order.
  public private(set) var knownKeys: [String] = []
  /// What was read of them, in that order.
  public private(set) var readings: [ConfigurationReading] = []
  private var passedPrefixes: [String] = []
  private let entries: [String: ConfigurationEntry]
  private let isMasked: @Sendable (String) -> Bool

  /// - Parameters:
  ///   - document: with its references resolved.
  ///   - isMasked: whether the value of a key is left out of messages and listings.
  public init(
    _ document: ConfigurationDocument,
    isMasked: @escaping @Sendable (_ key: String) -> Bool = SecretKey.isMasked
  ) {
    entries = document.entries
    self.isMasked = isMasked
  }

  /// A whole number; one that is spelled `1e3` or `5.0` is whole too.
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

  /// A whole number of milliseconds or bytes: a number, or text with a unit such as `100ms` and `8MiB`.
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

  /// A whole number of milliseconds or bytes, of the platform's width.
  public mutating func quantity(
    _ key: String,
    _ unit: ConfigurationUnit,
    default defaultValue: Int,
    in range: ClosedRange<Int>
  ) throws(ConfigurationError) -> Int {
    let wide = Int64(range.lowerBound)...Int64(range.upperBound)
    return Int(try quantity(key, unit, default: Int64(defaultValue), in: wide))
  }

  /// A whole number of the platform's width.
  public mutating func integer(
    _ key: String,
    default defaultValue: Int,
    in range: ClosedRange<Int>
  ) throws(ConfigurationError) -> Int {
    let wide = Int64(range.lowerBound)...Int64(range.upperBound)
    return Int(try integer(key, default: Int64(defaultValue), in: wide))
  }

  /// A number. Infinity and not-a-number are in no range.
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
  ///   - allowed: What `isAllowed` accepts, in words.
  ///   - isAllowed: Whether a string may be used.
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

  /// One of the cases of an enumeration, by name.
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

  /// Everything under a prefix that was not asked for by its key, as text and sorted by name: a section that
  /// is passed on as it is.
  ///
  /// - Parameter prefix: With its dot, such as `kafka.`; the names come without it.
  /// - Throws: When a value is null, a list, or an object that holds nothing.
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

  /// Checks that every key that is set was asked for.
  ///
  /// - Throws: ``ConfigurationError`` for the first unknown key in alphabetical order, with the nearest known one.
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

  /// Where a key was set, or that it has its default; for errors that concern two keys.
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

  /// Nobody knows whether a text of an unknown key is a secret.
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
