import Spelling

/// Environment variables that set keys: `FEEDSTORE_COALESCE_IDLE_WINDOW` sets `coalesce.idleWindow`.
package struct ConfigurationVariables: Sendable {
  /// The prefix of the variables' names, with its underscore.
  package var prefix: String
  /// The keys that can be set.
  package var keys: [String]
  /// A section that is passed on, such as `kafka`: `FEEDSTORE_KAFKA_GROUP_ID` sets `kafka.group.id`.
  package var passedSection: String
  /// Whether the section has a setting of this name.
  package var isPassed: @Sendable (String) -> Bool
  /// Common names in the section, to suggest one for a misspelt variable.
  package var passedNames: [String]
  /// Prefixes of names that have another purpose and are ignored.
  package var reserved: [String]

  /// A variable that sets no key.
  package struct Unknown: Sendable, Equatable, CustomStringConvertible {
    package let name: String
    /// The probably intended name; nil if none is near.
    package let suggestion: String?

    package var description: String {
      let hint = suggestion.map { "did you mean \($0)?" } ?? "remove it, or correct its name"
      return "the environment variable \(name) sets nothing; \(hint)"
    }
  }

  package init(
    prefix: String,
    keys: [String],
    passedSection: String,
    isPassed: @escaping @Sendable (String) -> Bool,
    passedNames: [String],
    reserved: [String]
  ) {
    self.prefix = prefix
    self.keys = keys
    self.passedSection = passedSection
    self.isPassed = isPassed
    self.passedNames = passedNames
    self.reserved = reserved
  }

  /// The name of the variable for a key.
  package func name(of key: String) -> String {
    var name = prefix
    var last: Character = "."
    for character in key {
      if character.isUppercase, last.isLowercase || last.isNumber { name += "_" }
      name += character == "." ? "_" : character.uppercased()
      last = character
    }
    return name
  }

  /// Sets the keys whose variables are not empty.
  ///
  /// - Returns: the variables with the prefix that set no key, sorted by name.
  package func apply(_ environment: [String: String], to document: inout ConfigurationDocument) -> [Unknown] {
    let keysByName = Dictionary(keys.map { (name(of: $0), $0) }) { first, _ in first }
    let sectionPrefix = name(of: passedSection + ".")
    var unknown: [Unknown] = []
    for (name, value) in environment.sorted(by: { $0.key < $1.key })
    where name.hasPrefix(prefix) && !value.isEmpty {
      if let key = keysByName[name] {
        document.set(key, toText: value, from: .environment(name))
        continue
      }
      if reserved.contains(where: { name.hasPrefix($0) }) { continue }
      let passed = name.dropFirst(sectionPrefix.count).lowercased().replacing("_", with: ".")
      if name.hasPrefix(sectionPrefix), isPassed(passed) {
        document.set("\(passedSection).\(passed)", toText: value, from: .environment(name))
        continue
      }
      let names = keysByName.keys + passedNames.map { self.name(of: "\(passedSection).\($0)") }
      unknown.append(Unknown(name: name, suggestion: NearestName.suggestion(for: name, among: names)))
    }
    return unknown
  }
}
