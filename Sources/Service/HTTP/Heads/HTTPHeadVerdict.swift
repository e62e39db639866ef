/// The verdict on a request after some of its bytes.
public enum HTTPHeadVerdict: Sendable, Equatable {
  /// The head is incomplete and valid so far.
  case incomplete
  /// The head is complete.
  ///
  /// - Parameter length: its size in bytes, including the empty line at its end.
  case complete(length: Int)
  /// The request can be answered at once, whatever follows.
  case refused(HTTPHeadFault)
}
