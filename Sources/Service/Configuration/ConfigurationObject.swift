import Spelling

/// Reads the members of an object in a list, such as `ingest.sources[0]`, and records which were requested.
package struct ConfigurationObject {
  /// Its name in messages.
  package let name: String
  private let members: [String: ConfigurationValue]
  private let place: String
  private var known: [String] = []

  init(_ value: ConfigurationValue, name: String, place: String) throws(ConfigurationError) {
    guard case .object(let members) = value else {
      throw ConfigurationError("\(name) is \(value); allowed: an object", place: place)
    }
    self.name = name
    self.place = place
    self.members = members
  }

  /// A member's value; nil if it is absent.
  package mutating func member(_ member: String) -> ConfigurationValue? {
    known.append(member)
    return members[member]
  }

  /// A string.
  ///
  /// - Parameter defaultValue: nil if the member is required.
  package mutating func string(
    _ member: String,
    default defaultValue: String?,
    allowed: String = "a string"
  ) throws(ConfigurationError) -> String {
    let value = self.member(member)
    if case .string(let text) = value { return text }
    guard value == nil, let defaultValue else { throw refusal(member, value, allowed) }
    return defaultValue
  }

  /// The members of a member that is an object, sorted by name; none if it is absent.
  package mutating func objects(
    _ member: String,
    allowed: String
  ) throws(ConfigurationError) -> [(name: String, value: ConfigurationValue)] {
    let value = self.member(member)
    if case .object(let members) = value {
      return members.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
    guard value == nil else { throw refusal(member, value, allowed) }
    return []
  }

  /// The elements of a member that is a list of objects; nil if it is absent.
  package mutating func list<Element>(
    _ member: String,
    _ read: (inout ConfigurationObject) throws(ConfigurationError) -> Element
  ) throws(ConfigurationError) -> [Element]? {
    guard let value = self.member(member) else { return nil }
    guard case .array(let values) = value else { throw refusal(member, value, "a list of objects") }
    var elements: [Element] = []
    for (index, value) in values.enumerated() {
      var object = try ConfigurationObject(value, name: "\(name).\(member)[\(index)]", place: place)
      elements.append(try read(&object))
      try object.finish()
    }
    return elements
  }

  /// An error about a member.
  package func refusal(
    _ member: String,
    _ value: ConfigurationValue?,
    _ allowed: String
  ) -> ConfigurationError {
    let found = value.map { "is \($0)" } ?? "is missing"
    return ConfigurationError("\(name).\(member) \(found); allowed: \(allowed)", place: place)
  }

  /// Refuses members that were not requested, with the nearest known one.
  func finish() throws(ConfigurationError) {
    guard let stranger = members.keys.sorted().first(where: { !known.contains($0) }) else { return }
    let hint = NearestName.suggestion(for: stranger, among: known).map { "did you mean \($0)?" }
    throw ConfigurationError(
      "\(name).\(stranger) is not a known key; \(hint ?? "allowed: " + known.joined(separator: ", "))",
      place: place
    )
  }
}
