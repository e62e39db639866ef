package import Feed
import FeedKafka
import FeedStore
package import Service

/// What `feedstore ingest` reads, and how it maps rows to feeds (docs/ingest.md).
package struct IngestOptions: Sendable, Equatable {
  /// The consumer group of `feedstore ingest`, which is not the daemon's.
  package var group = "feedstore-ingest"
  package var sources: [IngestSource] = []
  package var topics: [String] { sources.map(\.topic) }

  package static let noSources = ConfigurationError(
    "ingest.sources is empty; name the topics to read and how their rows become items, as docs/ingest.md shows"
  )

  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    let allowed = "a string that is not empty"
    group = try reader.string("ingest.group", default: group, allowed: allowed) { !$0.isEmpty }
    for (index, var source) in try reader.objects("ingest.sources").enumerated() {
      sources.append(try IngestSource(&source, "ingest.sources[\(index)]"))
      try source.finish()
    }
  }

  /// Refuses literals that are longer than an id, and two sources that would give a section one order after the other.
  func check(_ limits: Limits, _ reader: ConfigurationReader) throws(ConfigurationError) {
    let place = reader.place(of: "ingest.sources")
    for (index, source) in sources.enumerated() {
      let name = "ingest.sources[\(index)]"
      let templates = [
        ("feed", source.feed), ("section", source.section), ("item", source.item), ("kind", source.kind),
      ]
      for case (let member, let template?) in templates where template.literalBytes > limits.maxIdBytes {
        let problem =
          "literals of \(template.literalBytes) bytes, more than limits.maxIdBytes (\(limits.maxIdBytes))"
        throw ConfigurationError("\(name).\(member) has \(problem); shorten them", place: place)
      }
      let other = sources[..<index].firstIndex {
        $0.feed == source.feed && $0.section == source.section && $0.settings != source.settings
          && !$0.settings.isEmpty && !source.settings.isEmpty
      }
      guard let other else { continue }
      throw ConfigurationError(
        """
        \(name) writes to the feed and section of ingest.sources[\(other)] with a different order or keep; the section would get the \
        settings of both in turn: give both sources the same settings, or only one of them any
        """,
        place: place
      )
    }
  }

  /// Refuses the daemon's group, and topics that would be read twice, or that FeedStore itself reads or writes.
  func check(
    _ names: TopicNames,
    _ kafka: [ConfigurationPair],
    _ reader: ConfigurationReader
  ) throws(ConfigurationError) {
    let other = kafka.last { $0.name == "group.id" }?.value ?? KafkaSettings.defaultName
    if !sources.isEmpty, group == other {
      throw ConfigurationError(
        "ingest.group is \"\(group)\", and so is kafka.group.id; give feedstore ingest a group of its own",
        place: reader.place(of: "ingest.group")
      )
    }
    for (index, topic) in topics.enumerated() {
      let isTwice = topics[..<index].contains(topic)
      guard isTwice || names.distinct.contains(topic) else { continue }
      let remedy =
        isTwice
        ? "another element has it already; map it a second time with another ingest.group, in a process of its own"
        : "it is one of topics.*, which have no rows"
      throw ConfigurationError(
        "ingest.sources[\(index)].topic is \"\(topic)\": \(remedy)",
        place: reader.place(of: "ingest.sources")
      )
    }
  }
}

/// A topic of rows or change events, and the places of its rows in feeds.
package struct IngestSource: Sendable, Equatable {
  package enum Format: String, Sendable, CaseIterable {
    /// The value is the row, and the record's key its identity; a null deletes it.
    case json
    /// The value is Debezium's envelope in JSON, with or without its schema.
    case debezium
  }

  /// What members of the row must be.
  package struct Condition: Sendable, Equatable {
    package let pointer: JSONPointer
    /// Strings, integers, booleans and null, which is also no member.
    package let values: [ConfigurationValue]
  }

  /// How a source spells a decimal that is not a JSON number.
  package enum DecimalForm: Sendable, Equatable {
    /// The bytes of a big-endian whole number in two's complement, in Base64, divided by a power of ten.
    case base64(scale: Int)
    case text
  }

  package struct DecimalMember: Sendable, Equatable {
    package let pointer: JSONPointer
    package let form: DecimalForm
  }

  package let topic: String
  package let format: Format
  package let feed: IngestTemplate
  package let section: IngestTemplate
  package let item: IngestTemplate
  package let kind: IngestTemplate?
  /// What is the item's data, if `members` is nil.
  package let data: JSONPointer
  /// The names of the members of the row that are the item's data.
  package let members: [String]?
  package let conditions: [Condition]
  /// The members of the row that are decimals, if the event has no schema that says so.
  package let decimals: [DecimalMember]
  /// Debezium's text in place of a large value that an update did not change.
  package let unavailableValue: String
  /// Records, and what they become.
  package let tests: [IngestTest]
  /// The fields `order` and `keep` of the sections that it fills, each with a comma before; empty if they have none.
  package let settings: String
  /// The keys of `order`: pointers into the item's data.
  package let orderKeys: [JSONPointer]

  /// Whether the key alone says which item a row is.
  package var isKeyed: Bool { feed.usesOnlyKey && item.usesOnlyKey }

  fileprivate init(_ reader: inout ConfigurationReader, _ name: String) throws(ConfigurationError) {
    let topicKey = name + ".topic"
    topic = try reader.string(topicKey, default: "", allowed: TopicName.allowed)
    guard Array(topic.utf8).withUnsafeBytes({ TopicName.isLegal(ByteSpan($0)) }) else {
      throw reader.refusal(topicKey, TopicName.allowed)
    }
    format = try reader.choice(name + ".format", default: .json)
    feed = try reader.template(name + ".feed", isKeyed: format == .json)
    section = try reader.template(name + ".section")
    item = try reader.template(name + ".item", isKeyed: format == .json)
    kind = reader.value(name + ".kind") == nil ? nil : try reader.template(name + ".kind")
    (data, members) = try reader.data(name + ".data")
    conditions = try reader.conditions(name + ".where")
    decimals = try reader.decimals(name + ".decimals")
    let placeholder = "a string of 8 to 255 bytes"
    unavailableValue = try reader.string(
      name + ".unavailableValue",
      default: "__debezium_unavailable_value",
      allowed: placeholder
    ) { (8...255).contains($0.utf8.count) }
    tests = try reader.tests(name + ".tests")
    let order = try reader.order(name + ".order", of: members)
    orderKeys = order.keys
    settings = try order.text + reader.keep(name + ".keep")
  }
}

extension ConfigurationReader {
  /// - Parameter isKeyed: whether it may use only the key.
  fileprivate mutating func template(
    _ key: String,
    isKeyed: Bool = false
  ) throws(ConfigurationError) -> IngestTemplate {
    let text = try string(key, default: "", allowed: IngestTemplate.allowed)
    guard let template = IngestTemplate(text) else { throw refusal(key, IngestTemplate.allowed) }
    guard !isKeyed || template.usesOnlyKey else {
      throw refusal(
        key,
        """
        with "format": "json", literals, {key} and {key/pointer} only, because a row does not say where it was before; key \
        the topic by what is needed, or read change events ("format": "debezium")
        """
      )
    }
    return template
  }

  fileprivate mutating func data(_ key: String) throws(ConfigurationError) -> (JSONPointer, [String]?) {
    switch value(key) {
    case nil: return (JSONPointer(members: []), nil)
    case .string(let text)?:
      if let pointer = JSONPointer(text) { return (pointer, nil) }
    case .array(let values)?:
      let names = values.compactMap { if case .string(let name) = $0 { name } else { nil } }
      let isPlain = names.count == values.count && Set(names).count == names.count
      if isPlain, !names.isEmpty, !names.contains(where: { $0.hasPrefix("/") }) {
        return (JSONPointer(members: []), names)
      }
    default: break
    }
    throw refusal(
      key,
      "a JSON Pointer into the row, \"\" for all of it, or a list of names of its members, each once, without a slash before it"
    )
  }

  fileprivate mutating func conditions(_ key: String) throws(ConfigurationError) -> [IngestSource.Condition] {
    let allowed = """
      each with a list of strings, whole numbers, true, false or null, as in {"/status": ["open", "paid"]}
      """
    return try pointers(key, allowed) { pointer, value in
      guard case .array(let values) = value, !values.isEmpty,
        values.allSatisfy({ if case .number = $0 { false } else { $0.text != nil || $0 == .null } })
      else { return nil }
      return IngestSource.Condition(pointer: pointer, values: values)
    }
  }

  fileprivate mutating func decimals(
    _ key: String
  ) throws(ConfigurationError) -> [IngestSource.DecimalMember] {
    let allowed = """
      each with the scale of a decimal that is bytes in Base64 (0 to 1000), or "text" for a decimal that is a string, as in \
      {"/price": 2}
      """
    return try pointers(key, allowed) { pointer, value in
      switch value {
      case _ where pointer.tokens.isEmpty: nil
      case .integer(let scale) where (0...1_000).contains(scale):
        IngestSource.DecimalMember(pointer: pointer, form: .base64(scale: Int(scale)))
      case .string("text"): IngestSource.DecimalMember(pointer: pointer, form: .text)
      default: nil
      }
    }
  }

  /// An object whose members are pointers into the row.
  private mutating func pointers<Value>(
    _ key: String,
    _ allowed: String,
    _ read: (JSONPointer, ConfigurationValue) -> Value?
  ) throws(ConfigurationError) -> [Value] {
    guard let value = value(key) else { return [] }
    let allowed = "an object of JSON Pointers into the row, \(allowed)"
    guard case .object(let members) = value else { throw refusal(key, allowed) }
    var result: [Value] = []
    for (text, value) in members.sorted(by: { $0.key < $1.key }) {
      guard let pointer = JSONPointer(text), let one = read(pointer, value) else {
        let problem = "\(key) has \(text.debugDescription): \(value)"
        throw ConfigurationError("\(problem); allowed: \(allowed)", place: place(of: key))
      }
      result.append(one)
    }
    return result
  }

  /// - Parameter members: those that are the data; nil if others may be.
  fileprivate mutating func order(
    _ key: String,
    of members: [String]?
  ) throws(ConfigurationError) -> (text: String, keys: [JSONPointer]) {
    guard value(key) != nil else { return ("", []) }
    var pointers: [JSONPointer] = []
    var keys: [String] = []
    for (index, var reader) in try objects(key).enumerated() {
      let by = try reader.string("\(key)[\(index)].by", default: "")
      let direction = try reader.string("\(key)[\(index)].direction", default: "ascending")
      if let members, let column = JSONPointer(by)?.column,
        !members.contains(where: { column == JSONPointer(members: [$0]) })
      {
        throw reader.refusal("\(key)[\(index)].by", "a JSON Pointer into a member that 'data' lists")
      }
      try reader.finish()
      pointers += JSONPointer(by).map { [$0] } ?? []
      keys.append("{\"by\":\(IngestTemplate.quoted(by)),\"direction\":\(IngestTemplate.quoted(direction))}")
    }
    var text = "[" + keys.joined(separator: ",") + "]"
    let bytes = text.withUTF8 { OwnedSpan(ByteSpan(UnsafeRawBufferPointer($0))) }
    do throws(SectionOrder.Fault) {
      let order = try SectionOrder(bytes.span)
      return (withExtendedLifetime((bytes, order.text)) { ",\"order\":" + order.text.span.text }, pointers)
    } catch {
      throw refusal(key, "an order of a section; it \(error.problem)")
    }
  }

  fileprivate mutating func keep(_ key: String) throws(ConfigurationError) -> String {
    var keep = 0
    guard value(key) != nil else { return "" }
    try read(key, into: &keep, from: 1, to: SectionSettings.greatestBound)
    return ",\"keep\":\(keep)"
  }
}

/// A record of a source, and what it becomes, for `feedstore ingest --check`.
package struct IngestTest: Sendable, Equatable {
  /// `ingest.sources[0].tests[1]`, and the test's own name.
  package let name: String
  /// As text; nil for a null.
  package let key: String?
  package let value: String?
  /// Whether it has the header of a primary key that has changed.
  package let isRekeyed: Bool
  /// A word for the outcome, or the code of a rejection; nil if any will do.
  package let outcome: String?
  /// The records of feeds: objects with `feed` and `value`.
  package let gives: [ConfigurationValue]
}

extension ConfigurationReader {
  fileprivate mutating func tests(_ key: String) throws(ConfigurationError) -> [IngestTest] {
    var tests: [IngestTest] = []
    for (index, var reader) in try objects(key).enumerated() {
      let place = "\(key)[\(index)]"
      let title = try reader.string(place + ".name", default: "")
      let outcome = try reader.string(place + ".outcome", default: "")
      guard case .array(let gives) = reader.value(place + ".gives") ?? .array([]) else {
        throw reader.refusal(place + ".gives", "a list of objects with feed and value")
      }
      tests.append(
        IngestTest(
          name: title.isEmpty ? place : "\(place) (\(title))",
          key: reader.value(place + ".key")?.record,
          value: reader.value(place + ".value")?.record,
          isRekeyed: try reader.boolean(place + ".newKey", default: false),
          outcome: outcome.isEmpty ? nil : outcome,
          gives: gives
        )
      )
      try reader.finish()
    }
    return tests
  }
}

extension ConfigurationValue {
  /// A key or a value of a record: a string as it is, other values as JSON; nil for null.
  fileprivate var record: String? {
    switch self {
    case .null: nil
    case .string(let text): text
    default: json
    }
  }

  private var json: String {
    switch self {
    case .null: "null"
    case .boolean, .integer, .number: text ?? ""
    case .string(let text): IngestTemplate.quoted(text)
    case .array(let elements): "[" + elements.map(\.json).joined(separator: ",") + "]"
    case .object(let members):
      "{"
        + members.sorted { $0.key < $1.key }.map { "\(IngestTemplate.quoted($0.key)):\($0.value.json)" }
        .joined(separator: ",") + "}"
    }
  }
}

/// How an id is made of a row: `customer-{/customer_id}` is a literal and a pointer into the row, `{key}` is the record's key as
/// text, and `{key/id}` a pointer into it. `{{` and `}}` are braces.
package struct IngestTemplate: Sendable, Equatable {
  package enum Part: Sendable, Equatable {
    case literal([UInt8])
    case row(JSONPointer)
    case key
    case keyMember(JSONPointer)

    /// As it is written.
    package var text: String {
      switch self {
      case .literal(let bytes): String(decoding: bytes, as: UTF8.self)
      case .row(let pointer): "{\(pointer.text)}"
      case .key: "{key}"
      case .keyMember(let pointer): "{key\(pointer.text)}"
      }
    }
  }

  /// As it is written.
  package let text: String
  package private(set) var parts: [Part] = []

  /// Whether the key alone decides.
  package var usesOnlyKey: Bool {
    parts.allSatisfy { if case .row = $0 { false } else { true } }
  }

  /// The bytes that every id has.
  var literalBytes: Int {
    parts.reduce(0) { sum, part in if case .literal(let bytes) = part { sum + bytes.count } else { sum } }
  }

  package static let allowed = """
    literals, and {/pointer} into the row, {key}, or {key/pointer} into the key, as in "customer-{/customer_id}"; {{ and }} are \
    braces
    """

  /// - Returns: nil if the text is no template.
  init?(_ text: String) {
    self.text = text
    var rest = text[...]
    while let character = rest.popFirst() {
      if character == "{" || character == "}", rest.first == character {
        rest.removeFirst()
        append(character)
      } else if character == "{" {
        guard let close = rest.firstIndex(of: "}"), let part = Self.part(rest[..<close]) else { return nil }
        parts.append(part)
        rest = rest[rest.index(after: close)...]
      } else {
        guard character != "}" else { return nil }
        append(character)
      }
    }
    if parts.isEmpty { return nil }
  }

  private mutating func append(_ character: Character) {
    var bytes = Array(String(character).utf8)
    if case .literal(let before)? = parts.last { bytes = before + bytes }
    if case .literal? = parts.last { parts.removeLast() }
    parts.append(.literal(bytes))
  }

  private static func part(_ name: Substring) -> Part? {
    if name == "key" { return .key }
    if name.hasPrefix("key/") { return JSONPointer(String(name.dropFirst(3))).map { .keyMember($0) } }
    return name.hasPrefix("/") ? JSONPointer(String(name)).map { .row($0) } : nil
  }

  package static func quoted(_ text: String) -> String {
    let writer = ByteWriter()
    var text = text
    text.withUTF8 { writer.append(quoted: ByteSpan(UnsafeRawBufferPointer($0))) }
    return writer.written.text
  }
}

extension JSONPointer {
  /// - Returns: nil if the text is no pointer, or too long.
  init?(_ text: String) {
    var text = text
    guard let pointer = text.withUTF8({ JSONPointer(ByteSpan(UnsafeRawBufferPointer($0))) }) else {
      return nil
    }
    self = pointer
  }
}
