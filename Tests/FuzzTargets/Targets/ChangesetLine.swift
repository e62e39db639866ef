import Feed
import Oracle

/// A record of the changesets topic as a line of input: the key, a tab, and the value; without a tab, a Kafka null.
struct ChangesetLine {
  let key: [UInt8]
  let value: [UInt8]?

  init(_ line: [UInt8]) {
    let tab = line.firstIndex(of: UInt8(ascii: "\t"))
    key = Array(line[..<(tab ?? line.endIndex)])
    value = tab.map { Array(line[($0 + 1)...]) }
  }

  private init(key: [UInt8], value: [UInt8]?) {
    self.key = key
    self.value = value
  }

  /// Calls the body with key and value.
  func withSpans<Result, Failure: Error>(
    _ body: (ByteSpan, ByteSpan?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try key.withOwnSpan { key throws(Failure) in
      guard let value else { return try body(key, nil) }
      return try value.withOwnSpan { value throws(Failure) in try body(key, value) }
    }
  }

  /// Alternating names and values, as the store would write them.
  var headers: [[UInt8]] {
    guard let value, let json = try? OracleJSON.parse(value) else { return [] }
    func text(_ name: String) -> [UInt8] { json.last(name)?.string ?? json.last(name)?.minified ?? [] }
    let revision = text("revision").text
    let part = json.last("part").map { $0.minified.text } ?? "0"
    let kind = text("reason").text == "keyframe" ? "/keyframe" : "/"
    let id = text("feed") + Array("@".utf8) + text("epoch") + Array("@\(revision)\(kind)\(part)".utf8)
    let sequence = String(repeating: "0", count: max(0, 20 - revision.utf8.count)) + revision
    let headers: [(String, [UInt8])] = [
      ("content-type", Array("application/json".utf8)), ("ce_specversion", Array("1.0".utf8)),
      ("ce_type", Array("feedstore.changeset".utf8)), ("ce_source", Array("/feedstore".utf8)), ("ce_id", id),
      ("ce_subject", text("feed")), ("ce_time", text("time")), ("ce_sequence", Array(sequence.utf8)),
    ]
    return headers.flatMap { [Array($0.0.utf8), $0.1] }
  }

  // MARK: Checksums

  /// The lines of an input with corrected checksums, because random mutations would never find a valid one.
  static func repaired(_ input: [UInt8]) -> [ChangesetLine] {
    var lines: [ChangesetLine] = []
    var replicas = ReplicaPartition(describesChanges: false)
    for line in input.lines.prefix(60) {
      var line = ChangesetLine(line)
      if let repaired = line.repaired(replicas.take(line)) {
        line = repaired
        // Start over: the attempt has changed the replicas.
        replicas = ReplicaPartition(describesChanges: false)
        for line in lines + [line] { _ = replicas.take(line) }
      }
      lines.append(line)
    }
    return lines
  }

  /// nil if the checksum is not the reason for the failure.
  private func repaired(_ outcome: Result<ReplicaOutcome, ReplicaFault>) -> ChangesetLine? {
    guard case .success(.mismatch(let fault)) = outcome, fault.code == .checksum, var text = value?.text,
      let found = fault.message.firstMatch(of: /checksum is ([0-9a-f]{8}), expected/)?.1,
      let place = text.firstRange(of: /"checksum":"[0-9A-Fa-f+]*"/), OracleUTF8.isValid(value ?? [])
    else { return nil }
    text.replaceSubrange(place, with: "\"checksum\":\"\(found)\"")
    return ChangesetLine(key: key, value: Array(text.utf8))
  }
}

extension ReplicaPartition {
  func take(_ line: ChangesetLine) -> Result<ReplicaOutcome, ReplicaFault> {
    do throws(ReplicaFault) {
      return .success(
        try line.withSpans { key, value throws(ReplicaFault) in try apply(key: key, value: value) }
      )
    } catch {
      return .failure(error)
    }
  }
}
