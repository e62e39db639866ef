/// Which member of which generation commits.
public final class SimulatedMembership {
  public let memberID: String
  public let generation: Int32

  public init(memberID: String, generation: Int32) {
    self.memberID = memberID
    self.generation = generation
  }
}
