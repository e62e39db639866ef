import Feed
import FeedConfiguration
public import FeedStore
import Foundation

@testable public import Oracle

/// A conformance vector for stores: input, settings, and the expected result.
public struct StoreVector: Sendable {
  public let name: String
  /// Its subject, in a sentence.
  public let title: [UInt8]
  /// The sections of the protocol that it covers, as JSON.
  public let sections: [UInt8]
  /// Whether the output must match byte for byte; otherwise only its states.
  public let isExact: Bool
  /// Whether its output is a vector for followers, too.
  let isReplica: Bool
  public let settings: ConformanceSettings
  public let input: [UInt8]
  /// The settings in the file, as JSON.
  let settingsText: [UInt8]

  /// Reads `vector.json` and `input.ndjson` of its folder.
  public init(_ name: String) throws {
    self.name = name
    let json = try OracleJSON.parse(ConformanceFiles.bytes("store/\(name)/vector.json"))
    title = json.last("title")?.string ?? []
    sections = json.last("sections")?.minified ?? Array("[]".utf8)
    isExact = json.last("exact")?.content != .boolean(false)
    isReplica = json.last("replica")?.content != .boolean(false)
    settings = try ConformanceSettings(json.last("settings"))
    settingsText = json.last("settings")?.minified ?? Array("{}".utf8)
    input = try ConformanceFiles.bytes("store/\(name)/input.ndjson")
  }

  /// The oracle's result for the input.
  public struct Result: Sendable {
    public var records: [JudgedRecord] = []
    public var changes: [OracleChange] = []
    public var rejected: [OracleRejected] = []
  }

  public func result() throws(JudgeFailure) -> Result {
    let options = settings.options
    var oracle = Oracle(
      limits: options.limits,
      coalescing: options.coalescing,
      contentsTopic: options.topics.contents
    )
    var judge = ChangesetJudge(
      planner: options.planner,
      keyframes: options.keyframe,
      output: options.output
    )
    var result = Result()
    func note(_ flush: OracleFlush?) {
      guard let flush else { return }
      result.records += judge.expectedRecords(flush)
      result.changes += flush.changes
      result.rejected += flush.rejected
    }
    for record in try ReplayLines.records(input) {
      let step = oracle.take(record)
      step.earlier.forEach(note)
      note(step.flushBefore)
      note(step.flushAfter)
    }
    note(oracle.finish())
    return result
  }

  /// What `run.py` compares.
  func answers() -> [[UInt8]] {
    guard let result = try? result() else { return [] }
    let heads = result.changes.map { change in
      let through = change.through.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
      return Array("\(change.base) \(change.time) \(through)".utf8)
    }
    let output =
      isExact ? result.records.map { $0.replayLine(offset: 0) } : result.changes.map(Self.line) + heads
    return result.rejected.map(Self.line) + [[0]] + output
  }

  /// The generated files, by name.
  public func files() throws(JudgeFailure) -> [String: [UInt8]] {
    let result = try result()
    var files = [
      "rejected.ndjson": Self.lines(result.rejected.map(Self.line)),
      "states.ndjson": Self.lines(result.changes.map(Self.line)),
    ]
    var offsets: [Int: Int] = [:]
    files["output.ndjson"] = Self.lines(
      result.records.map { record in
        defer { offsets[record.partition, default: 0] += 1 }
        return record.replayLine(offset: offsets[record.partition, default: 0])
      }
    )
    return files
  }

  static func lines(_ lines: [[UInt8]]) -> [UInt8] { lines.flatMap { $0 + Array("\n".utf8) } }

  private static func line(_ rejected: OracleRejected) -> [UInt8] {
    var text = OracleText()
    text.add("{\"topic\":")
    text.addString(rejected.record.topic)
    text.addField("partition", number: rejected.record.partition)
    text.addField("offset", number: rejected.record.offset)
    text.addField("ts", number: rejected.record.time)
    text.addField("code", string: rejected.rejection.code.rawValue)
    text.add("}")
    return text.bytes
  }

  private static func line(_ change: OracleChange) -> [UInt8] {
    var text = OracleText()
    text.add("{\"partition\":\(change.key.partition)")
    text.addField("feed", string: change.key.id)
    text.addField("epoch", string: change.epoch)
    text.addField("revision", number: change.revision)
    if let feed = change.after {
      text.addField("checksum", string: OracleChecksum.text(OracleChecksum.of(feed)))
      text.addField("sections", json: feed.sectionsText)
    } else {
      text.add(",\"deleted\":true")
    }
    text.add("}")
    return text.bytes
  }
}

extension OracleFeed {
  /// The feed of a vector's sections.
  public init(_ sections: [OracleJSON]) {
    func text(_ json: OracleJSON, _ name: String) -> [UInt8] { json.last(name)?.string ?? [] }
    let sections = sections.map { section in
      let items = (section.last("items")?.elements ?? []).map { item in
        OracleItem(id: text(item, "id"), kind: text(item, "kind"))
      }
      return OracleSection(id: text(section, "id"), items: items)
    }
    self.init(sections: sections)
  }

  /// The feed without ends and times to live, which followers may ignore.
  public var withoutEnds: OracleFeed {
    var feed = self
    for place in feed.sections.indices {
      feed.sections[place].ttl = nil
      for item in feed.sections[place].items.indices { feed.sections[place].items[item].expires = nil }
    }
    return feed
  }

  /// The sections as JSON with every field but references, including empty lists.
  public var sectionsText: [UInt8] {
    var text = OracleText()
    text.addList(
      sections.map { section in
        var text = OracleText()
        text.add("{")
        text.addField("id", string: section.id, isFirst: true)
        text.addContent(of: section)
        text.add(",\"items\":")
        text.addList(
          section.items.map { item in
            // Followers need not know of references.
            var item = item
            item.refs = []
            var text = OracleText()
            text.add("{")
            text.addField("id", string: item.id, isFirst: true)
            text.addField("kind", string: item.kind)
            text.addContent(of: item)
            text.add("}")
            return text.bytes
          }
        )
        text.add("}")
        return text.bytes
      }
    )
    return text.bytes
  }
}

extension JudgedRecord {
  /// The record as a line of a replay's output, without the line feed.
  public func replayLine(offset: Int) -> [UInt8] {
    var text = OracleText()
    text.add(
      "{\"topic\":\"feeds.changesets\",\"partition\":\(partition),\"offset\":\(offset),\"ts\":\(timestamp)"
    )
    text.add(",\"headers\":")
    text.addList(
      headers.flatMap { header in
        [Array(header.name.utf8), header.value].map { word in
          var text = OracleText()
          text.addString(word)
          return text.bytes
        }
      }
    )
    text.addField("key", string: key)
    text.addField("value", json: value ?? Array("null".utf8))
    text.add("}")
    return text.bytes
  }
}

/// The settings of a conformance vector: configuration keys with values, as in its file.
public struct ConformanceSettings: Sendable {
  public let options: FeedStoreOptions

  /// - Parameter json: an object; nil for the defaults.
  /// - Throws: ``JudgeFailure`` for a setting that the configuration does not have.
  public init(_ json: OracleJSON?) throws(JudgeFailure) {
    var members: [(key: String, value: String)] = []
    if case .object(let object)? = json?.content {
      members = object.map { member in
        let text = member.value.string ?? member.value.minified
        return (String(decoding: member.name, as: UTF8.self), String(decoding: text, as: UTF8.self))
      }
    }
    // The configuration requires larger parts than the vectors have.
    let partKey = "output.maxMessageBytes"
    let assignments = members.filter { $0.key != partKey }.map { "\($0.key)=\($0.value)" }.sorted()
    do {
      var options = try ConfigurationSources(assignments: assignments).load().configuration.store
      if let bytes = members.last(where: { $0.key == partKey }).flatMap({ Int($0.value) }) {
        options.output.maxMessageBytes = bytes
      }
      self.options = options
    } catch {
      throw JudgeFailure("\(error)")
    }
  }
}

/// Parses lines of a replay file (protocol, section 7) into records.
public struct ReplayLines {
  private var nextOffsets: [String: Int] = [:]
  private var timestamp = 0

  public init() {}

  /// The records of a whole file.
  public static func records(_ file: [UInt8]) throws(JudgeFailure) -> [OracleRecord] {
    var lines = ReplayLines()
    var records: [OracleRecord] = []
    for line in file.split(separator: UInt8(ascii: "\n"))
    where !line.allSatisfy({ " \t\r".utf8.contains($0) }) {
      let marked = Self.markingSurrogates(Array(line))
      guard let json = try? OracleJSON.parse(marked) else {
        throw JudgeFailure("a line is not JSON: \(String(decoding: line, as: UTF8.self))")
      }
      records.append(lines.record(json))
    }
    return records
  }

  // Unpaired surrogate escapes, which the oracle's parser refuses, have a character that no line has, and their digits.

  private static let mark = Array("\u{10FFFD}".utf8)

  private static func markingSurrogates(_ line: [UInt8]) -> [UInt8] {
    guard OracleUTF8.isValid(line) else { return line }
    let escape =
      /\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|u([dD][89a-fA-F][0-9a-fA-F]{2})|.)/
    let text = String(decoding: line, as: UTF8.self).replacing(escape) { match in
      match.2.map { "\u{10FFFD}\($0)" } ?? String(match.0)
    }
    return Array(text.utf8)
  }

  /// - Parameter isText: whether the bytes are what a string stands for, and not JSON.
  private static func unmarked(_ bytes: [UInt8]?, isText: Bool) -> [UInt8]? {
    guard let bytes, bytes.firstRange(of: mark) != nil else { return bytes }
    let pieces = bytes.split(separator: mark, omittingEmptySubsequences: false)
    return pieces.dropFirst().reduce(Array(pieces[0])) { result, piece in
      let digits = String(decoding: piece.prefix(4), as: UTF8.self)
      let surrogate = isText ? OracleUTF8.encode(UInt32(digits, radix: 16) ?? 0) : Array("\\u\(digits)".utf8)
      return result + surrogate + piece.dropFirst(4)
    }
  }

  /// The record of the next line.
  public mutating func record(_ line: OracleJSON) -> OracleRecord {
    let topic = line.last("topic")?.string.map { String(decoding: $0, as: UTF8.self) } ?? "feeds.items"
    let partition = Self.number(line, "partition") ?? 0
    let place = "\(topic)/\(partition)"
    let offset = Self.number(line, "offset") ?? nextOffsets[place] ?? 0
    nextOffsets[place] = offset + 1
    timestamp = Self.number(line, "ts") ?? timestamp
    return OracleRecord(
      topic: topic,
      partition: partition,
      offset: offset,
      timestamp: timestamp,
      key: Self.unmarked(line.last("key")?.string, isText: true) ?? Self.base64(line, "keyBase64"),
      value: Self.value(line)
    )
  }

  private static func value(_ line: OracleJSON) -> [UInt8]? {
    if let value = line.last("value") {
      return value.content == .null ? nil : unmarked(value.minified, isText: false)
    }
    return unmarked(line.last("payload")?.string, isText: true) ?? base64(line, "payloadBase64")
  }

  private static func base64(_ line: OracleJSON, _ name: String) -> [UInt8]? {
    guard let text = line.last(name)?.string else { return nil }
    return Data(base64Encoded: Data(text)).map(Array.init)
  }

  private static func number(_ line: OracleJSON, _ name: String) -> Int? {
    line.last(name).flatMap { Int(String(decoding: $0.minified, as: UTF8.self)) }
  }
}
