import FeedTransactions
import Testing

@testable import FeedStatus

@Suite struct ReplacementReasonTests {
  @Test func `the state says why a producer is replaced, and the error what it was lost for`() {
    #expect(ReplacementReason(.replacing(.withdrawal), nil) == .aborted)
    #expect(ReplacementReason(.replacing(.beginning), nil) == .connectionLost)
    #expect(ReplacementReason(.broken, nil) == .unknownOutcome)
  }
}
