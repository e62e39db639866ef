import Feed
import FeedVerification

extension FuzzTarget {
  /// Records of the changesets topic, verified and followed.
  ///
  /// - A replica can apply whatever the verifier accepts.
  static let verifier = FuzzTarget(
    "verifier",
    tokens: changesetTokens,
    generate: GeneratedChangesets.input
  ) { input throws(FuzzFailure) in
    var options = VerificationOptions(keyframes: KeyframePolicy(), output: OutputOptions())
    // The lines have no headers, and generated headers have no plans.
    options.requiresPlans = false
    let verifiers = [false, true].map { mayBeCompacted in
      var options = options
      options.mayBeCompacted = mayBeCompacted
      return ChangesetVerifier(options)
    }
    let replicas = ReplicaPartition()
    var faulty: Set<ByteText> = []
    var hasFaultWithoutFeed = false
    for (number, line) in ChangesetLine.repaired(input).enumerated() {
      let faults = verifiers.map { line.verify(with: $0, at: number) }
      for fault in faults[0] {
        if let feed = fault.feed { faulty.insert(ByteText(feed)) } else { hasFaultWithoutFeed = true }
      }
      let outcome = replicas.take(line)
      // A line that names no feed is reported once.
      guard let feed = line.feed else {
        try expect(hasFaultWithoutFeed, "a key that is none was passed: \(line.key.text)")
        continue
      }
      if faulty.contains(feed) { continue }
      switch outcome {
      case .success(.applied), .success(.removed), .success(.skipped), .success(.waitingForParts): break
      case .success(let other):
        throw FuzzFailure("the verifier passed what a replica does not apply: \(other)")
      case .failure(let fault): throw FuzzFailure("the verifier passed what a replica refuses: \(fault)")
      }
    }
    for verifier in verifiers { _ = verifier.finish() }
  }
}

extension ChangesetLine {
  fileprivate var feed: ByteText? { key.withOwnSpan { RecordKey($0).map { ByteText($0.feed) } } }

  fileprivate func verify(with verifier: ChangesetVerifier, at number: Int) -> [VerificationFault] {
    let headers = headers
    let joined = Array(headers.joined())
    return joined.withOwnSpan { joined in
      var start = 0
      let spans = headers.map { header -> ByteSpan? in
        defer { start += header.count }
        return ByteSpan(joined.base + start, header.count)
      }
      return withSpans { key, value in
        verifier.check(
          VerifiedRecord(
            key: key,
            value: value,
            headers: spans,
            timestamp: nil,
            location: VerificationLocation(source: 0, position: Int64(number))
          ),
          in: 0
        )
      }
    }
  }
}
