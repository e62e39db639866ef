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

  /// A rule of its own, or of a family.
  public enum Planted: Hashable, Sendable {
    case rule(Rule)
    case finer(String)

    var trial: Rule.Trial {
      switch self {
      case .rule(let rule): Rule.Trial(broken: rule)
      case .finer(let name): Rule.Trial(finer: name)
      }
    }

    public var name: String {
      switch self {
      case .rule(let rule): rule.rawValue
      case .finer(let name): name
      }
    }
  }

  /// All that can be broken.
  public static let planted: [Planted] =
    Rule.allCases.filter { Rule.unseen[$0] == nil }.map { .rule($0) } + FinerRules.all.map { .finer($0) }

  /// The first vectors that notice each, in the order of the manifest.
  public private(set) var noticing: [Planted: [String]] = [:]

  /// Those that no vector notices.
  public var living: [String] { Self.planted.filter { noticing[$0] == nil }.map(\.name) }

  /// - Parameter isComplete: whether each rule has the first three vectors, or the shortest one that notices it.
  public init(_ vectors: ConformanceVectors, isComplete: Bool) throws {
    var runs = try Self.vectors(vectors).map { vector in
      let trial = Rule.Trial()
      return (vector: vector, expected: vector.answers(trial), trial: trial)
    }
    if !isComplete { runs.sort { $0.expected.count < $1.expected.count } }
    for (vector, expected, trial) in runs {
      // Without a rule that it does not ask for, the oracle does the same.
      let asked = trial.asked.map { Planted.rule($0) } + trial.askedFiner.map { .finer($0) }
      for planted in asked where noticing[planted, default: []].count < (isComplete ? 3 : 1) {
        if noticing[planted]?.last == vector.name { continue }
        let found = vector.answers(planted.trial)
        let isSame =
          found.count == expected.count && zip(found, expected).allSatisfy { $1.isEmpty || $0 == $1 }
        if !isSame { noticing[planted, default: []].append(vector.name) }
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
        var oracle = Oracle(
          limits: settings.options.limits,
          contentsTopic: settings.options.topics.contents
        )
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
      + vectors.replicas.flatMap { replica in
        // A feed does not depend on others.
        replica.feeds.map { feed in Vector(name: "replica/\(replica.name)") { feed.answers() } }
      }
      + rejections + files
  }

  /// The table as a file: every rule with the first vectors that notice it, or why none does.
  var text: String {
    let living = living
    var text = """
      # The rules of the protocol, and the vectors that notice them

      `make conformance` writes this file: the tests' second implementation leaves out one rule after the other, and runs every
      vector. A vector notices a rule if its expected result differs then. \(Self.planted.count) rules are left out, of which \
      \(living.count) are not noticed; \(Rule.unseen.count) more cannot be seen.

      | section | rule | the first vectors |
      |---|---|---|

      """
    func row(_ name: String, _ vectors: String) {
      let section = name.prefix { $0 != " " }
      text += "| \(section) | \(name.dropFirst(section.count + 1)) | \(vectors) |\n"
    }
    func listed(_ names: [String]) -> String { names.map { "`\($0)`" }.joined(separator: ", ") }
    for rule in Rule.allCases {
      let names = noticing[.rule(rule), default: []]
      row(rule.rawValue, names.isEmpty ? "none" + (Rule.unseen[rule].map { ": \($0)" } ?? "") : listed(names))
    }
    text += """

      ## Families

      Each of these is left out for several fields, records or bounds, one after the other.

      | section | family | left out | not noticed | the first vectors |
      |---|---|---|---|---|

      """
    var families: [(name: String, members: [String])] = []
    for name in FinerRules.all {
      let family = String(name.split(separator: ":", maxSplits: 1)[0])
      if families.last?.name != family { families.append((family, [])) }
      families[families.count - 1].members.append(name)
    }
    for family in families {
      let section = family.name.prefix { $0 != " " }
      let unnoticed = family.members.filter { noticing[.finer($0)] == nil }.map {
        $0.dropFirst(family.name.count + 2)
      }
      var seen: [String] = []
      for name in family.members.flatMap({ noticing[.finer($0), default: []] }) where !seen.contains(name) {
        seen.append(name)
      }
      text += "| \(section) | \(family.name.dropFirst(section.count + 1)) | \(family.members.count) | "
      text +=
        "\(unnoticed.isEmpty ? "" : unnoticed.joined(separator: "; ")) | \(listed(Array(seen.prefix(3)))) |\n"
    }
    return text
  }
}
