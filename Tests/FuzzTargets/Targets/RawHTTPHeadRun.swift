import HTTP

/// A head as raw bytes, and the verdict of the check.
struct RawHTTPHeadRun {
  private let bytes: [UInt8]

  init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Checks that the verdict is the same byte by byte, in halves, and at once, and stays the same once it is final.
  func checkCuts() throws(FuzzFailure) {
    var wholeCheck = HTTPHeadCheck()
    let whole = bytes.withUnsafeBytes { wholeCheck.read($0) }
    for step in [1, max(1, bytes.count / 2)] {
      var check = HTTPHeadCheck()
      var final: HTTPHeadVerdict?
      for end in Array(stride(from: step, to: bytes.count, by: step)) + [bytes.count] {
        let verdict = bytes[..<end].withUnsafeBytes { check.read($0) }
        if let final { try expect(verdict == final, "\(final) became \(verdict)") }
        if verdict != .incomplete { final = verdict }
      }
      try expect(
        final ?? .incomplete == whole,
        "in steps of \(step): \(String(describing: final)), at once: \(whole)"
      )
    }
    if case .complete(let length) = whole {
      try expect(
        length <= bytes.count && bytes[..<length].suffix(2) == [13, 10],
        "a head of \(length) bytes"
      )
    }
    if case .refused(let fault) = whole {
      try expect((400..<600).contains(fault.status), "refused with \(fault.status)")
    }
  }
}
