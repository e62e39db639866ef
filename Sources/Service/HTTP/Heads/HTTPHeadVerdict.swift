/// What is known of a request after some of its bytes.
public enum HTTPHeadVerdict: Sendable, Equatable {
  /// The head is not whole yet, and nothing is wrong so far.
  case incomplete
  /// The head is whole.
  ///
  /// - Parameter length: Its bytes, with the empty line at its end.
  case complete(length: Int)
  /// It can be answered at once, whatever else comes.
  case refused(HTTPHeadFault)
}
