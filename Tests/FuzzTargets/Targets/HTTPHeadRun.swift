@testable import HTTP

/// A request's head, and the gate's decision.
struct HTTPHeadRun {
  static let token = "0123456789abcdef"
  private static let produced = ["application/json", "text/event-stream", "text/html"]

  private static let router = {
    var router = HTTPRouter()
    router.add("/open", isOpen: true) { _ in HTTPResponse(status: 204) }
    router.add("/feeds", produces: produced) { _ in HTTPResponse(status: 204) }
    router.add("/feeds", method: .post, contentBytes: 100) { _ in HTTPResponse(status: 204) }
    router.add("/feeds/{feed}/items/{item}", produces: produced) { _ in HTTPResponse(status: 204) }
    return router
  }()

  private let head: HTTPRequestHead

  init(_ input: [UInt8]) {
    let lines = input.text.split(separator: "\n", omittingEmptySubsequences: false)
    let words = (lines.first ?? "").split(separator: " ", omittingEmptySubsequences: false)
    let target = (words.count > 1 ? words[1] : "").split(separator: "?", maxSplits: 1)
    var head = HTTPRequestHead(
      method: String(words.first ?? ""),
      path: target.first.map(String.init),
      query: []
    )
    head.query = (target.count > 1 ? target[1] : "").split(separator: "&").map { field in
      let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      return HTTPField(String(parts[0]), parts.count > 1 ? String(parts[1]) : "")
    }
    head.headers = lines.dropFirst().map { line in
      let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      return HTTPField(
        String(parts[0]),
        parts.count > 1 ? String(Substring(parts[1].utf8.trimmingSpaces())) : ""
      )
    }
    self.head = head
  }

  // MARK: Verdicts

  func checkVerdicts() throws(FuzzFailure) {
    for token in [nil, try? BearerToken(Self.token)] {
      let gate = HTTPGate(router: Self.router, limits: HTTPHeadLimits())
      let tokens = AcceptedTokens(bearer: token)
      let (verdict, other) = (verdict(gate, tokens, head), verdict(gate, tokens, withOtherCase))
      try expect(Self.words(verdict) == Self.words(other), "the case of names decides")
      switch verdict {
      case .failure(let error):
        let status = (error as? any HTTPRefusing)?.response.status ?? 500
        try expect((400..<500).contains(status), "a request is refused with \(status)")
      case .success(let admission):
        let request = admission.request
        try checkCaller(request, token)
        if let type = request.mediaType {
          try expect(Self.produced.contains(type), "the media type \(type) is chosen, which there is not")
        }
      }
    }
  }

  private func checkCaller(
    _ request: HTTPRequest,
    _ token: BearerToken?
  ) throws(FuzzFailure) {
    guard token == nil else {
      let shown = head.header("Authorization") ?? ""
      return try expect(
        request.path == "/open" || shown.lowercased().hasPrefix("bearer ") && shown.hasSuffix(Self.token),
        "served without the token: \(shown)"
      )
    }
    let hosts = head.headers.filter { $0.name.lowercased() == "host" }.map { $0.value.lowercased() }
    try expect(hosts.count <= 1, "served with \(hosts.count) hosts")
    for host in hosts { try expect(Self.isThisMachine(host), "served as the host \(host), without a token") }
  }

  /// A simpler implementation: a name or an address, then an optional port of digits.
  private static func isThisMachine(_ host: String) -> Bool {
    var name = Substring(host)
    if host.hasPrefix("[") {
      guard let end = host.firstIndex(of: "]") else { return false }
      name = host[host.index(after: host.startIndex)..<end]
      let rest = host[host.index(after: end)...]
      guard rest.isEmpty || rest.first == ":" && rest.dropFirst().allSatisfy("0123456789".contains) else {
        return false
      }
      return name.allSatisfy("0123456789abcdef:.".contains)
    }
    if let colon = host.firstIndex(of: ":") {
      guard host[colon...].dropFirst().allSatisfy("0123456789".contains) else { return false }
      name = host[..<colon]
    }
    return name == "localhost" || name.hasSuffix(".localhost")
      || name.hasPrefix("127.") && name.allSatisfy("0123456789.".contains)
  }

  private var withOtherCase: HTTPRequestHead {
    var other = head
    other.headers = head.headers.map { field in
      let isASCII = field.name.utf8.allSatisfy { $0 < 0x80 }
      return HTTPField(isASCII ? field.name.uppercased() : field.name, field.value)
    }
    return other
  }

  private func verdict(
    _ gate: HTTPGate,
    _ tokens: AcceptedTokens,
    _ head: HTTPRequestHead
  ) -> Result<HTTPAdmission, any Error> {
    Result { try gate.admit(head, tokens) }
  }

  private static func words(_ verdict: Result<HTTPAdmission, any Error>) -> String {
    switch verdict {
    case .failure(let error): "refused with \((error as? any HTTPRefusing)?.response.status ?? 500)"
    case .success(let admission):
      "\(admission.request.parameters.sorted { $0.key < $1.key }) \(admission.request.mediaType ?? "")"
    }
  }

  // MARK: Lists and hosts

  func checkLists() throws(FuzzFailure) {
    for field in head.headers {
      let list = QualityList(field.value)
      let best = list.best(of: Self.produced)
      let qualities = Self.produced.map(list.quality(ofMediaType:))
      try expect(qualities.allSatisfy { (0...1000).contains($0) }, "a quality of \(qualities)")
      try expect(
        (best != nil) == qualities.contains { $0 > 0 },
        "\(best ?? "nothing") is best of \(qualities)"
      )
      _ = list.acceptsEncoding("gzip")
    }
  }

  func checkHosts() throws(FuzzFailure) {
    for text in head.headers.map(\.value) {
      _ = HostField(text)?.isLoopback
      guard let address = IPAddress(text) else { continue }
      try expect(
        IPAddress(address.description) == address,
        "\(text) is spelled \(address), which is another address"
      )
      try expect(
        HostField(address.host)?.isLoopback == address.isLoopback,
        "\(address.host) is loopback as a host, or as an address, and not as both"
      )
    }
  }
}
