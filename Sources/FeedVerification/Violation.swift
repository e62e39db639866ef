import Feed

/// A rule of the protocol that a record breaks: what was found and what was expected.
struct Violation: Error, Equatable {
  let message: String

  init(_ message: String) { self.message = message }

  /// Lets what a replica finds count as a violation.
  static func from<Result>(_ body: () throws(ReplicaFault) -> Result) throws(Violation) -> Result {
    do throws(ReplicaFault) {
      return try body()
    } catch {
      throw Violation(error.message)
    }
  }
}
