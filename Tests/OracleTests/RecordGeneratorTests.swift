import Feed
import Oracle
import Testing

struct RecordGeneratorTests {
  @Test func `a seed always gives the same records`() {
    var one = RecordGenerator(seed: 7)
    var other = RecordGenerator(seed: 7)
    var third = RecordGenerator(seed: 8)
    let records = one.records(200)
    #expect(records == other.records(200))
    #expect(records != third.records(200))
  }

  @Test func `all kinds of records are generated`() {
    var options = GeneratorOptions()
    options.badPercent = 10
    var generator = RecordGenerator(seed: 3, options: options)
    var oracle = Oracle()
    var codes: [OracleRejectCode: Int] = [:]
    var noOps: Set<OracleNoOp> = []
    var applied = 0
    var already = 0
    var deleted = 0
    var crossed = 0
    for record in generator.records(3000) {
      let step = oracle.take(record)
      switch step.outcome {
      case .applied(let reasons):
        applied += 1
        noOps.formUnion(reasons)
      case .alreadyApplied: already += 1
      case .rejected(let rejection): codes[rejection.code, default: 0] += 1
      }
      for change in step.flushBefore?.changes ?? [] {
        if change.after == nil { deleted += 1 }
        for section in change.before?.sections ?? [] {
          let now = change.after?.section(section.id)?.items.map(\.id) ?? []
          if section.items.contains(where: { !now.contains($0.id) && change.after?.item($0.id) != nil }) {
            crossed += 1
          }
        }
      }
    }
    #expect(Set(codes.keys) == Set(OracleRejectCode.allCases))
    #expect(noOps == Set(OracleNoOp.allCases))
    #expect(applied > 1500 && already > 0 && deleted > 0 && crossed > 100)
  }

  @Test func `the bad records are rejected`() {
    var options = GeneratorOptions()
    options.badPercent = 100
    options.repeatedOffsetPercent = 0
    options.limits.maxDataBytes = 3000
    options.limits.maxEvents = 100
    var generator = RecordGenerator(seed: 11, options: options)
    var oracle = Oracle(limits: options.limits)
    for record in generator.records(2000) {
      guard case .rejected = oracle.apply(record) else {
        Issue.record("accepted: \(String(decoding: record.value ?? [], as: UTF8.self))")
        continue
      }
    }
  }

  @Test func `permutations are complete`() {
    #expect(Permutations.of(3) == [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
    #expect(Permutations.of(0) == [[]])
    #expect(Set(Permutations.of(6)).count == 720)
    #expect(Permutations.ofSubsets(3).count == 16)
  }
}
