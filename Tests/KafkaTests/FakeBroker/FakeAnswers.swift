/// The responses of a `FakeBroker` to the four requests with which librdkafka lists groups. It has no topics.
struct FakeAnswers: Sendable {
  enum Request: Int16, CaseIterable, Sendable {
    case metadata = 3
    case describeGroups = 15
    case listGroups = 16
    case apiVersions = 18

    /// The only supported version. Metadata has a controller from version 1 on; without one, `rd_kafka_list_groups` may
    /// not notice that there is metadata (librdkafka 2.0.2).
    var version: Int16 { self == .metadata ? 1 : 0 }
  }

  var groups: [FakeGroup] = []
  /// The error code of ListGroups; 0 for none.
  var listingError: Int16 = 0
  /// A request that is never answered.
  var unanswered: Request?
  /// The ports of the cluster's other brokers.
  var others: [UInt16] = []

  private static let unsupportedVersion: Int16 = 35
  /// The length of a null string.
  private static let null: Int16 = -1

  /// The response with its size and header; nil for none.
  ///
  /// - Parameter request: begins with API key, version, correlation id and client id.
  func answer(to request: [UInt8], port: UInt16) -> [UInt8]? {
    var reader = FakeRequestReader(request)
    guard let kind = Request(rawValue: reader.integer()), kind != unanswered else { return nil }
    let version: Int16 = reader.integer()
    var answer = FakeAnswerWriter()
    answer.append(reader.integer() as Int32)
    _ = reader.text()
    switch kind {
    case .apiVersions where version != kind.version:
      answer.append(Self.unsupportedVersion)
      answer.append(Int32(0))
    case .apiVersions:
      answer.append(Int16(0))
      answer.append(Request.allCases) {
        for number in [$1.rawValue, $1.version, $1.version] { $0.append(number) }
      }
    case .metadata:
      answer.append(Array(([port] + others).enumerated())) {
        $0.append(Int32($1.offset + 1))
        $0.append("127.0.0.1")
        $0.append(Int32($1.element))
        $0.append(Self.null)
      }
      // The controller's id, and no topics.
      answer.append(Int32(1))
      answer.append(Int32(0))
    case .listGroups:
      answer.append(listingError)
      answer.append(groups) {
        $0.append($1.name)
        $0.append("consumer")
      }
    case .describeGroups:
      let names = (0..<(reader.integer() as Int32)).map { _ in reader.text() }
      answer.append(groups.filter { names.contains($0.name) }) { $1.write(to: &$0) }
    }
    var framed = FakeAnswerWriter()
    framed.append(bytes: answer.bytes)
    return framed.bytes
  }
}
