import Oracle
import Testing

struct OracleMergePatchTests {
  private func merge(_ target: String, _ patch: String) throws -> String {
    text(
      OracleMergePatch.merge(try OracleJSON.parse(bytes(patch)), into: try OracleJSON.parse(bytes(target)))
    )
  }

  @Test(arguments: MergePatchExamples.all)
  func `merge patches have their results`(_ target: String, _ patch: String, _ result: String) throws {
    #expect(try merge(target, patch) == result)
  }
}
