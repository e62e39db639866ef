package import Feed
import FeedStore
package import Settings

/// A topic of rows or change events, and the places of its rows in feeds, or among the contents.
package struct IngestSource: Sendable, Equatable, MappingObject {
  package enum Format: String, Sendable {
    case json, debezium, avro
    case debeziumAvro = "debezium-avro"

    package var isAvro: Bool { self == .avro || self == .debeziumAvro }
    /// Whether the row is in Debezium's envelope.
    package var isEvent: Bool { self == .debezium || self == .debeziumAvro }
  }

  /// The item's data: the value at a pointer, or an object of the members with these names.
  package struct Selection: Sendable, Equatable {
    package var pointer = JSONPointer(tokens: [])
    package var members: [String]?
  }

  /// The spelling of a decimal that is not a JSON number.
  package enum DecimalForm: Sendable, Equatable {
    /// The bytes of a big-endian whole number in two's complement, in Base64, divided by a power of ten.
    case base64(scale: Int)
    case text
  }

  package let topic: String
  package let format: Format
  /// Each is `content` if rows become contents.
  package let feed, section, item: IngestTemplate
  /// The id of the content that a row becomes; nil if it becomes an item.
  package let content: IngestTemplate?
  /// The ids of the contents that an item refers to, by the references' names; nil if items keep their references.
  package let references: [String: IngestTemplate]?
  package let kind: IngestTemplate?
  /// The end of an item in the row; nil if items do not end.
  package let expires: JSONPointer?
  package let data: Selection
  /// Strings, integers, booleans and null, which is also no member.
  package let conditions: [IngestMember<[ConfigurationValue]>]
  package let order: [IngestOrderKey]
  package let decimals: [IngestMember<DecimalForm>]
  package let unavailableValue: String
  package let tests: [IngestTest]
  /// The fields `order` and `keep` of the sections that it fills, each with a comma before; empty if they have none.
  package let settings: String

  /// Whether the key alone says which item or content a row is.
  package var isKeyed: Bool { feed.usesOnlyKey && item.usesOnlyKey }
  /// The fields that have the ids of rows.
  package var ids: [(field: String, template: IngestTemplate)] {
    content.map { [("content", $0)] } ?? [("feed", feed), ("item", item)]
  }
  var templates: [(field: String, template: IngestTemplate)] {
    ids + [("section", section), ("kind", kind ?? item)] + (references ?? [:]).map { ("refs.\($0)", $1) }
  }

  package static let table = """
    | `topic` | \(TopicName.allowed), as in `"shop.public.orders"` | required | The rows' topic: one that no other \
    source has, and none of `topics.*` |
    | `format` | `"json"`, `"debezium"`, `"avro"` or `"debezium-avro"` | `"json"` | The value is a row, with the key as \
    its identity, or (`debezium`) a change event in Debezium's envelope: in JSON, which may have the schema of \
    `JsonConverter`, or in [Avro](#avro) |
    | `feed`, `section`, `item` | \(IngestTemplate.allowed) | required | [Templates](#templates) of the ids; not with `content` |
    | `content` | \(IngestTemplate.allowed) | none | For [contents](#rows-as-contents) instead of items: the template of \
    their ids, in place of `feed`, `section` and `item` |
    | `refs` | an object of names, each with a template of the id of a content, at most \(References.most), as in \
    `{customer: "customer-{/customer_id}"}` | none | The item's [references](#rows-as-contents). Without a value at a place of \
    its template, or with `null`, a row has no such reference |
    | `kind` | \(IngestTemplate.allowed) | none | A template of the item's kind, which may be empty |
    | `expires` | \(IngestTemplate.allowedEnd) | none | The item's [end](protocol.md#215-items-that-end). A row without it, \
    or with `null`, has an item without an end |
    | `data` | a JSON Pointer into the row, or a list of names of its members, each once and without a slash before it, as \
    in `["total", "placed_at"]` | `""` | The item's data: the value at the pointer, `""` for the whole row, or an object \
    of the listed members that the row has. Values are spelled as in the row |
    | `where` | an object of JSON Pointers into the row, each with a list of strings, whole numbers, `true`, `false` or \
    `null`, as in `{"/status": ["open", "paid"]}` | `{}` | A row passes if each of the members has one of its values. \
    `null` also stands for no member. Numbers are compared as they are spelled: `17` is not `17.0` |
    | `order` | a list of 1 to \(SectionOrder.maxKeys) objects, as in `[{by: "/total", direction: "descending"}]` | none | \
    The [order](protocol.md#213-ordered-and-bounded-sections) of the sections that the source fills |
    | `keep` | a whole number from 1 to \(SectionSettings.bounds.upperBound), as in `100` | none | The \
    [bound](protocol.md#213-ordered-and-bounded-sections) of these sections. An item that was cut comes back only when its \
    row changes |
    | `decimals` | an object of JSON Pointers into the row, each with the scale of bytes in Base64 (0 to 1000) or \
    `"text"`, as in `{"/price": 2}` | `{}` | The [decimals](#decimals-and-times) of rows without a schema |
    | `unavailableValue` | a string of 8 to 255 bytes, as in `"(unchanged)"` | `"__debezium_unavailable_value"` | The connector's \
    `unavailable.value.placeholder`, for [columns that an event lacks](#columns-that-an-event-lacks) |
    | `tests` | a list of objects, as in `[{key: {id: 1}, outcome: "deleted"}]` | `[]` | Records, and \
    [what they become](#testing-a-mapping) |
    """

  init(_ read: MappingReader) throws(ConfigurationError) {
    topic = try read("topic") { $0.string(where: TopicName.isLegal) }
    format = try read("format") { $0.string.flatMap(Format.init) }
    let content = try read.optional("content", IngestTemplate.init)
    if content != nil {
      try read.refuse(
        ["feed", "section", "item", "kind", "expires", "order", "keep", "refs"],
        because: "is a field of items, and rows become contents with 'content'; remove one of the two"
      )
    }
    func place(_ field: String) throws(ConfigurationError) -> IngestTemplate {
      if let content { return content }
      return try read(field, IngestTemplate.init)
    }
    (self.content, feed, section, item) = (
      content, try place("feed"), try place("section"), try place("item")
    )
    references = try read.optional("refs") { value in
      guard case .object(let members) = value, members.count <= References.most else { return nil }
      let templates = members.compactMapValues(IngestTemplate.init)
      let areNames = templates.keys.allSatisfy { (1...References.greatestID).contains($0.utf8.count) }
      return areNames && templates.count == members.count ? templates : nil
    }
    kind = try read.optional("kind", IngestTemplate.init)
    expires = try read.optional("expires") { IngestTemplate($0)?.rowPointer }
    data = try read("data", Selection.init)
    conditions = try read.pointers("where") { _, value in
      guard let values = value.array, !values.isEmpty else { return nil }
      return values.allSatisfy { if case .number = $0 { false } else { $0.text != nil || $0 == .null } }
        ? values : nil
    }
    decimals = try read.pointers("decimals") { pointer, value in
      if pointer.tokens.isEmpty { return nil }
      return value == .string("text") ? .text : value.integer(in: 0...1_000).map { .base64(scale: $0) }
    }
    unavailableValue = try read("unavailableValue") { $0.string { (8...255).contains($0.utf8.count) } }
    tests = try read.objects("tests")
    order = try read.objects("order", 1...SectionOrder.maxKeys)
    let keep = try read.optional("keep") { $0.integer(in: 1...Int(SectionSettings.bounds.upperBound)) }
    let keys = order.map(\.json).joined(separator: ",")
    settings = (keys.isEmpty ? "" : ",\"order\":[\(keys)]") + (keep.map { ",\"keep\":\($0)" } ?? "")
    for (name, template) in ids where !format.isEvent && !template.usesOnlyKey {
      throw read.refusal(
        name,
        ConfigurationValue.string(template.text).json,
        allowed: """
          with "format": "json" or "avro", literals, {key} and {key/pointer} only, because a row does not say where it was \
          before; key the topic by what is needed, or read change events ("format": "debezium" or "debezium-avro")
          """
      )
    }
    guard let names = data.members else { return }
    if let name = names.first(where: { references?[$0] != nil }) {
      let problem =
        "has the name of a member that 'data' lists; name the reference differently, or remove the member"
      throw read.error("refs.\(name)", problem)
    }
    for (index, key) in order.enumerated()
    where !names.contains(where: { key.by.tokens.first == Array($0.utf8) }) {
      let by = ConfigurationValue.string(key.by.text).json
      throw read.refusal("order[\(index)].by", by, allowed: "a JSON Pointer into a member that 'data' lists")
    }
  }
}

extension IngestSource.Selection {
  fileprivate init?(_ value: ConfigurationValue) {
    if let text = value.string {
      guard let pointer = JSONPointer(text) else { return nil }
      self.pointer = pointer
    } else {
      let names = value.array?.compactMap(\.string).filter { !$0.hasPrefix("/") } ?? []
      guard !names.isEmpty, names.count == value.array?.count, Set(names).count == names.count else {
        return nil
      }
      members = names
    }
  }
}

/// A member of a row, and what a mapping says of it.
package struct IngestMember<Value: Sendable & Equatable>: Sendable, Equatable {
  package let pointer: JSONPointer
  package let value: Value
}

/// A value in the data by which a section's items are sorted.
package struct IngestOrderKey: Sendable, Equatable, MappingObject {
  package let by: JSONPointer
  let isDescending: Bool

  package static let table = """
    | `by` | a JSON Pointer into the item's data, as in `"/total"` | required | The value that is compared |
    | `direction` | `"ascending"` or `"descending"` | `"ascending"` | Whether the least value or the greatest is first |
    """

  init(_ read: MappingReader) throws(ConfigurationError) {
    by = try read("by") { $0.string.flatMap(JSONPointer.init) }
    isDescending = try read("direction") { ["ascending": false, "descending": true][$0.string] }
  }

  /// As the store spells it.
  var json: String {
    "{\"by\":\(ConfigurationValue.string(by.text).json)\(isDescending ? ",\"direction\":\"descending\"" : "")}"
  }
}

/// A record of a source, and what it becomes, for `feedstore ingest --check`.
package struct IngestTest: Sendable, Equatable, MappingObject {
  package let name: String?
  /// Text of the record; nil for a null.
  package let key, value: String?
  package let isRekeyed: Bool
  /// Nil if any will do.
  package let outcome: String?
  package let gives: [ConfigurationValue]

  package static let table = """
    | `name` | a string, as in `"a new order"` | none | The test's name in the message of a failure |
    | `key`, `value` | text in a string, or other JSON, as in `{id: 1}` | `null` | Those of the record |
    | `newKey` | `true` or `false` | `false` | Whether the record has the header `__debezium.newkey` |
    | `outcome` | a string, as in `"filtered"` | none | `upserted`, `deleted`, `filtered`, `skipped`, or the code of a rejection |
    | `gives` | a list of objects, as in `[{feed: "f", value: {op: "item.delete", item: "1"}}]` | `[]` | The records of \
    feeds, which are compared as JSON; a record of contents is `{content: "c", value: …}`. Each test begins as after a restart, so \
    that the `section.upsert` of an `order` is there |
    """

  init(_ read: MappingReader) throws(ConfigurationError) {
    name = try read.optional("name", \.string)
    key = try read("key") { .some($0.record) }
    value = try read("value") { .some($0.record) }
    isRekeyed = try read("newKey") { if case .boolean(let flag) = $0 { flag } else { nil } }
    outcome = try read.optional("outcome", \.string)
    gives = try read("gives", \.array)
  }
}

extension ConfigurationValue {
  /// A key or a value of a record; nil for null.
  fileprivate var record: String? { self == .null ? nil : string ?? json }
}
