import Feed
package import FeedConfiguration
import FeedStore
import FoundationEssentials
import Settings

/// Runs the `tests` of sources (`feedstore ingest --check`).
package enum MappingTests {
  /// - Returns: a line for each test that fails, and how many tests there are.
  package static func run(_ configuration: FeedStoreConfiguration) -> (failures: [String], count: Int) {
    var failures: [String] = []
    let sources = configuration.ingest.sources
    for (number, source) in sources.enumerated() {
      for (index, test) in source.tests.enumerated() {
        // As after a restart: the settings of a section precede its first item.
        let mapper = RowMapper(source, number: number, configuration.store.limits, SentSections())
        guard let problem = problem(test, mapper) else { continue }
        let name = test.name.map { " (\($0))" } ?? ""
        failures.append("ingest.sources[\(number)].tests[\(index)]\(name): \(problem)")
      }
    }
    return (failures, sources.reduce(0) { $0 + $1.tests.count })
  }

  private static func problem(_ test: IngestTest, _ mapper: RowMapper) -> String? {
    let (key, value) = (test.key?.ownedSpan, test.value?.ownedSpan)
    return withExtendedLifetime((key, value)) {
      let outcome = mapper.map(key: key?.span, value: value?.span) { test.isRekeyed }
      var found = outcome.name
      if case .rejected(let rejection) = outcome { found += ": \(rejection.message)" }
      if let wanted = test.outcome, wanted != outcome.name { return "expected \(wanted), found \(found)" }
      let records = (0..<mapper.recordCount).map { mapper.record($0) }
      let text = records.map { key, value in
        let name = mapper.isContent ? "content" : "feed"
        return "{\"\(name)\":\(ConfigurationValue.string(key.text).json),\"value\":\(value?.text ?? "null")}"
      }
      let list = "[" + text.joined(separator: ",") + "]"
      let values = try? JSONDecoder().decode(ConfigurationValue.self, from: Data(list.utf8))
      return values == .array(test.gives) ? nil : "expected other records than \(list) (\(found))"
    }
  }
}
