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
    options.hasConditions = true
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
      case .applied(let reasons, _):
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
    #expect(Set(codes.keys) == Set(OracleRejectCode.allCases.filter { $0 != .orderedSection }))
    #expect(noOps == Set(OracleNoOp.allCases))
    #expect(applied > 1000 && already > 0 && deleted > 0 && crossed > 100)
  }

  @Test func `ordered sections come, change and go`() {
    var generator = RecordGenerator(seed: 5, options: .orderedSections)
    var oracle = Oracle()
    var codes: Set<OracleRejectCode> = []
    var applied = 0
    var cut = 0
    var counts: [String: Int] = [:]
    for record in generator.records(3000) {
      let step = oracle.take(record)
      switch step.outcome {
      case .applied(_, let count):
        applied += 1
        cut += count
      case .alreadyApplied: break
      case .rejected(let rejection): codes.insert(rejection.code)
      }
      for change in step.flushBefore?.changes ?? [] {
        #expect(change.after?.disorder == nil)
        for section in change.after?.sections ?? [] {
          let before = change.before?.section(section.id)
          if section.order != nil, section.items.count > 3 { counts["long", default: 0] += 1 }
          guard let before else { continue }
          if before.keep != section.keep { counts["bound", default: 0] += 1 }
          switch (before.order, section.order) {
          case (nil, nil): break
          case (nil, _): counts["come", default: 0] += 1
          case (_, nil): counts["gone", default: 0] += 1
          case (let old, let new) where old != new: counts["changed", default: 0] += 1
          default:
            let placed = section.items.filter { item in before.items.contains { $0.id == item.id } }.map(\.id)
            let stood = before.items.map(\.id).filter { placed.contains($0) }
            if placed != stood { counts["moved", default: 0] += 1 }
          }
        }
      }
    }
    #expect(codes == Set(OracleRejectCode.allCases.filter { $0 != .conditionFailed }))
    #expect(applied > 1500 && cut > 300, "\(applied), \(cut)")
    for name in ["long", "bound", "come", "gone", "changed", "moved"] {
      #expect(counts[name, default: 0] > 30, "\(counts)")
    }
  }

  @Test(arguments: [false, true])
  func `the bad records are rejected`(hasOrders: Bool) {
    var options = GeneratorOptions()
    (options.hasOrders, options.hasConditions) = (hasOrders, hasOrders)
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
  }
}
