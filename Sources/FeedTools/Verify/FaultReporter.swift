import FeedVerification

/// A verifier that reports faults as lines with their positions.
final class FaultReporter {
  /// How to name positions.
  enum Places {
    /// By file and line.
    case files([String])
    /// By partition of this topic and offset.
    case topic(String)

    func text(of place: VerificationPlace) -> String {
      switch self {
      case .files(let paths):
        let path = paths[place.source]
        return "\(path == "-" ? "standard input" : path):\(place.position)"
      case .topic(let topic): return "\(topic) [\(place.source)], offset \(place.position)"
      }
    }
  }

  private let verifier: ChangesetVerifier
  private let places: Places
  private let tell: (String) -> Void
  private(set) var faults = 0

  init(_ options: VerificationOptions, _ places: Places, _ tell: @escaping (String) -> Void) {
    verifier = ChangesetVerifier(options)
    self.places = places
    self.tell = tell
  }

  var counts: VerificationCounts { verifier.counts }

  func check(_ record: VerifiedRecord, in partition: Int32) {
    for fault in verifier.check(record, in: partition) { report(fault) }
  }

  func finish() {
    for fault in verifier.finish() { report(fault) }
  }

  private func report(_ fault: VerificationFault) {
    report(
      fault.feed.map { "feed \($0.debugDescription): \(fault.message)" } ?? fault.message,
      at: fault.place
    )
  }

  func report(_ message: String, at place: VerificationPlace) {
    faults += 1
    // Ids and keys may have anything in them.
    tell(UpdateText.printable("\(places.text(of: place)): \(message)"))
  }
}
