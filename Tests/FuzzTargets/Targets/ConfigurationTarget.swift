import FeedConfiguration
import Oracle

@testable import Settings

extension FuzzTarget {
  /// A configuration file, in which lines that begin with `--set ` are options.
  ///
  /// - An error has a message.
  /// - Nested and dotted keys are equivalent.
  static let configuration = FuzzTarget(
    "configuration",
    tokens: FeedStoreConfiguration.keys.flatMap { ["\"\($0)\":", "--set \($0)="] } + [
      "coalesce:", "limits:", "kafka:", "http:", "//", "/*", "*/", "'", "+1", ".5", "0x10", "Infinity", "NaN",
      "undefined", "--set ", "\\\n", "\u{2028}", "$a_", "\\u0061", "${env:A}", "$${", "'8MiB'", "'1.5s'",
    ]
  ) { input throws(FuzzFailure) in
    guard OracleUTF8.isValid(input) else { return }
    let option = Array("--set ".utf8)
    let lines = input.lines
    let assignments = lines.filter { $0.starts(with: option) }.map { Array($0.dropFirst(option.count)).text }
    let text = Array(lines.filter { !$0.starts(with: option) }.joined(separator: [0x0A])).text
    do {
      var document = ConfigurationDocument()
      if !text.isEmpty { document = try ConfigurationDocument(text: text, name: "file") }
      try checkFlat(document)
      for assignment in assignments { try document.set(assignment) }
      // References to files are not resolved here.
      if !text.contains("${file:"), !assignments.contains(where: { $0.contains("${file:") }) {
        try document.resolve { $0 == "A" ? "7" : nil }
      }
      let (configuration, _) = try FeedStoreConfiguration.read(document)
      let (again, _) = try FeedStoreConfiguration.read(document)
      try expect(again == configuration, "a document is read in two ways")
    } catch let error as ConfigurationError {
      try expect(!error.message.isEmpty, "an error says nothing")
    } catch {
      throw error as? FuzzFailure ?? FuzzFailure("an error that is none of a configuration: \(error)")
    }
  }

  /// Compares with the same settings as dotted keys.
  private static func checkFlat(_ document: ConfigurationDocument) throws(FuzzFailure) {
    var members: [String] = []
    for (key, entry) in document.entries {
      guard let value = entry.value.spelled else { return }
      members.append("\(QuotedText(key)):\(value)")
    }
    let text = "{\(members.joined(separator: ","))}"
    do {
      let flat = try ConfigurationDocument(text: text, name: "flat")
      try expect(
        flat.entries.mapValues(\.value) == document.entries.mapValues(\.value),
        "with dotted keys the settings are others: \(text)"
      )
    } catch {
      throw error as? FuzzFailure
        ?? FuzzFailure("with dotted keys the settings are refused (\(error)): \(text)")
    }
  }
}

/// Text as a JSON string.
private struct QuotedText: CustomStringConvertible {
  let description: String

  init(_ text: String) {
    var quoted = "\""
    for unit in text.utf16 {
      let digits = String(unit, radix: 16)
      quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
    description = quoted + "\""
  }
}

extension ConfigurationValue {
  /// nil for values that are not equal to themselves.
  fileprivate var spelled: String? {
    switch self {
    case .null: "null"
    case .boolean(let value): "\(value)"
    case .integer(let value): "\(value)"
    case .number(let value): value.isFinite ? "\(value)" : nil
    case .string(let value): QuotedText(value).description
    case .array(let values):
      values.reduce("" as String?) { text, value in
        guard let text, let value = value.spelled else { return nil }
        return text + value + ","
      }.map { "[\($0)]" }
    // Only an empty object is a setting of its own; arrays may contain others.
    case .object(let members): members.isEmpty ? "{}" : nil
    }
  }
}
