import FeedStore
import Foundation

@testable public import Oracle

/// Which conformance vectors notice that a rule is broken: those for which the oracle without the rule answers otherwise.
public struct RuleTable: Sendable {
  private struct Vector: Sendable {
    let name: String
    /// What `run.py` compares, in order; an empty answer stands for any.
    let answers: @Sendable () -> [[UInt8]]

    func answers(_ trial: Rule.Trial) -> [[UInt8]] { Rule.$trial.withValue(trial, operation: answers) }
  }

  /// The names of the vectors that notice each rule, in the order of the manifest.
  public private(set) var noticing: [Rule: [String]] = [:]

  public init(_ vectors: ConformanceVectors) throws {
    for vector in try Self.vectors(vectors) {
      let trial = Rule.Trial(broken: nil)
      let expected = vector.answers(trial)
      // Without a rule that it does not ask for, the oracle does the same.
      for rule in Rule.allCases where trial.asked.contains(rule) {
        let found = vector.answers(Rule.Trial(broken: rule))
        let isSame =
          found.count == expected.count && zip(found, expected).allSatisfy { $1.isEmpty || $0 == $1 }
        if !isSame { noticing[rule, default: []].append(vector.name) }
      }
    }
  }

  private static func vectors(_ vectors: ConformanceVectors) throws -> [Vector] {
    let checksums = try ConformanceFiles.lines("checksum.ndjson")
    let keys = try ConformanceFiles.lines("keys.ndjson")
    let patches = try ConformanceFiles.lines("merge-patch.ndjson")
    let rejections = try ConformanceFiles.lines("rejections.ndjson").map { vector in
      let settings = try ConformanceSettings(vector.last("settings"))
      return Vector(name: "rejection: " + String(decoding: vector.last("name")?.string ?? [], as: UTF8.self))
      {
        var oracle = Oracle(limits: settings.options.limits)
        var reader = ReplayLines()
        return (vector.last("records")?.elements ?? []).map { record in
          guard case .rejected(let rejection) = oracle.take(reader.record(record)).outcome else { return [0] }
          return Array(rejection.code.rawValue.utf8)
        }
      }
    }
    let files = [
      Vector(name: "checksum.ndjson") {
        checksums.map { vector in
          Array(
            OracleChecksum.text(OracleChecksum.of(OracleFeed(vector.last("sections")?.elements ?? []))).utf8
          )
        }
      },
      Vector(name: "keys.ndjson") {
        keys.map { Array("\(OracleFollower.parse($0.last("key")?.string ?? []), default: "none")".utf8) }
      },
      Vector(name: "merge-patch.ndjson") {
        patches.map { vector in
          guard let data = try? OracleJSON.parse(vector.last("data")?.string ?? []),
            let patch = try? OracleJSON.parse(vector.last("patch")?.string ?? [])
          else { return [] }
          return OracleMergePatch.merge(patch, into: data)
        }
      },
    ]
    return vectors.stores.map { store in Vector(name: store.name) { store.answers() } }
      + vectors.replicas.map { replica in Vector(name: "replica/\(replica.name)") { replica.answers() } }
      + rejections + files
  }

  /// The table as a file: every rule with up to three of the vectors that notice it, or why none does.
  var text: String {
    let unseen = Rule.allCases.count { noticing[$0] == nil }
    var text = """
      # The rules of the protocol, and the vectors that notice them

      `make conformance` writes this file: the tests' second implementation leaves out one rule after the other, and runs every
      vector. A vector notices a rule if its expected result differs then. \(Rule.allCases.count) rules, of which \(unseen) cannot be seen.

      | section | rule | vectors |
      |---|---|---|

      """
    for rule in Rule.allCases {
      let names = noticing[rule, default: []]
      let more = names.count > 3 ? " and \(names.count - 3) more" : ""
      let vectors = names.prefix(3).map { "`\($0)`" }.joined(separator: ", ") + more
      text +=
        "| \(rule.section) | \(rule.text) | \(names.isEmpty ? "none: \(Rule.unseen[rule] ?? "")" : vectors) |\n"
    }
    return text
  }
}
