import Feed
import FeedStore
import Service

extension IngestOptions {
  /// Topics of one process: each has its own group assignment, and a line in the log.
  private static let mostSources = 1_000

  mutating func read(_ reader: inout ConfigurationReader) throws(ConfigurationError) {
    group = try reader.string("ingest.group", default: group, allowed: "a string that is not empty") {
      !$0.isEmpty
    }
    sources = try reader.list("ingest.sources") { source throws(ConfigurationError) in
      try IngestSource(&source)
    }
    guard sources.count <= Self.mostSources else {
      throw ConfigurationError(
        "ingest.sources has \(sources.count) elements; allowed: at most \(Self.mostSources)",
        place: reader.place(of: "ingest.sources")
      )
    }
  }

  /// Refuses topics that would be read twice, or that FeedStore itself writes.
  func checkTopics(_ topics: TopicNames, _ reader: ConfigurationReader) throws(ConfigurationError) {
    let own = [
      ("topics.sections", topics.sections), ("topics.items", topics.items),
      ("topics.changesets", topics.changesets),
      ("topics.rejected", topics.rejected),
    ]
    for (index, topic) in self.topics.enumerated() {
      let problem: String
      if let (key, _) = own.first(where: { $0.1 == topic }) {
        problem = "and so is \(key), which is not a topic of rows"
      } else if let first = self.topics[..<index].firstIndex(of: topic) {
        problem =
          "and so is ingest.sources[\(first)].topic; map it a second time with another ingest.group, in a process of its own"
      } else {
        continue
      }
      throw ConfigurationError(
        "ingest.sources[\(index)].topic is \"\(topic)\", \(problem)",
        place: reader.place(of: "ingest.sources")
      )
    }
  }
}

extension IngestSource {
  fileprivate init(_ source: inout ConfigurationObject) throws(ConfigurationError) {
    topic = try source.string("topic", default: nil, allowed: TopicName.allowed)
    guard Array(topic.utf8).withUnsafeBytes({ TopicName.isLegal(ByteSpan($0)) }) else {
      throw source.refusal("topic", .string(topic), TopicName.allowed)
    }
    let formats = "one of " + Format.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    let name = try source.string("format", default: Format.json.rawValue, allowed: formats)
    guard let format = Format(rawValue: name) else { throw source.refusal("format", .string(name), formats) }
    self.format = format
    feed = try source.template("feed")
    section = try source.template("section")
    item = try source.template("item")
    kind = source.has("kind") ? try source.template("kind") : nil
    content = try source.content("data")
    conditions = try source.conditions("where")
    order = try source.order("order")
    keep = try source.keep("keep")
    if format == .json {
      for (member, template) in [("feed", feed), ("item", item)] where !template.usesOnlyKey {
        throw source.refusal(
          member,
          .string(template.text),
          """
          with "format": "json", literals, {key} and {key/pointer} only, because a row does not say where it was before; key \
          the topic by what the \(member) needs, or read change events ("format": "debezium")
          """
        )
      }
    }
  }
}

extension ConfigurationObject {
  /// Whether a member is there.
  fileprivate mutating func has(_ name: String) -> Bool { member(name) != nil }

  fileprivate mutating func template(_ name: String) throws(ConfigurationError) -> IngestTemplate {
    let text = try string(name, default: nil, allowed: IngestTemplate.allowed)
    guard let template = IngestTemplate(text) else {
      throw refusal(name, .string(text), IngestTemplate.allowed)
    }
    return template
  }

  fileprivate mutating func content(_ name: String) throws(ConfigurationError) -> IngestSource.Content {
    let allowed = "a JSON Pointer into the row, \"\" for all of it, or a list of names of its members"
    guard let value = member(name) else { return .pointer(JSONPointer(members: []), text: "") }
    switch value {
    case .string(let text):
      guard let pointer = JSONPointer(text) else { throw refusal(name, value, allowed) }
      return .pointer(pointer, text: text)
    case .array(let values) where !values.isEmpty:
      var members: [(name: String, pointer: JSONPointer)] = []
      for case .string(let member) in values {
        members.append((Self.quoted(member), JSONPointer(members: [member])))
      }
      guard members.count == values.count else { throw refusal(name, value, allowed) }
      return .members(members)
    default: throw refusal(name, value, allowed)
    }
  }

  fileprivate mutating func conditions(_ name: String) throws(ConfigurationError) -> [IngestSource.Condition]
  {
    let allowed = """
      an object of JSON Pointers into the row, each with a list of strings, whole numbers, true, false or null, as in \
      {"/status": ["open", "paid"]}
      """
    var conditions: [IngestSource.Condition] = []
    for (text, value) in try objects(name, allowed: allowed) {
      guard let pointer = JSONPointer(text), case .array(let elements) = value, !elements.isEmpty else {
        throw refusal("\(name)[\"\(text)\"]", value, allowed)
      }
      var values: [IngestSource.ConditionValue] = []
      for element in elements {
        switch element {
        case .string(let text): values.append(.string(Array(text.utf8)))
        case .boolean, .integer: values.append(.literal(Array((element.text ?? "").utf8)))
        case .null: values.append(.null)
        case .number, .array, .object: throw refusal("\(name)[\"\(text)\"]", element, allowed)
        }
      }
      conditions.append(IngestSource.Condition(pointer: pointer, values: values))
    }
    return conditions
  }

  /// The order as JSON, in its canonical spelling.
  fileprivate mutating func order(_ name: String) throws(ConfigurationError) -> String? {
    let keys = try list(name) { key throws(ConfigurationError) -> String in
      let direction = try key.string("direction", default: "ascending")
      let by = try key.string("by", default: nil, allowed: "a JSON Pointer into the item's data")
      return "{\"by\":\(Self.quoted(by)),\"direction\":\(Self.quoted(direction))}"
    }
    guard let keys else { return nil }
    var text = "[" + keys.joined(separator: ",") + "]"
    let bytes = text.withUTF8 { OwnedSpan(ByteSpan(UnsafeRawBufferPointer($0))) }
    do throws(SectionOrder.Fault) {
      let order = try SectionOrder(bytes.span)
      return withExtendedLifetime((bytes, order.text)) { order.text.span.text }
    } catch {
      throw refusal(name, .string(text), "an order: it \(error.problem)")
    }
  }

  private static func quoted(_ text: String) -> String {
    let writer = ByteWriter()
    var text = text
    text.withUTF8 { writer.append(quoted: ByteSpan(UnsafeRawBufferPointer($0))) }
    return writer.written.text
  }

  fileprivate mutating func keep(_ name: String) throws(ConfigurationError) -> Int? {
    guard let value = member(name) else { return nil }
    guard case .integer(let number) = value, (1...Int64(SectionSettings.greatestBound)).contains(number)
    else {
      throw refusal(name, value, "a whole number from 1 to \(SectionSettings.greatestBound)")
    }
    return Int(number)
  }
}
