import Oracle

extension FuzzTarget {
  /// The head of a request: `METHOD TARGET`, and a line for each header field.
  ///
  /// - Without a token, no client is served that names another host; with one, no client without it.
  /// - The decision does not depend on the case of names.
  /// - The chosen media type is one of those offered and accepted.
  /// - An address that is formatted and parsed again is the same.
  /// - The verdict on a raw head does not depend on how the bytes are split.
  static let httpHead = FuzzTarget(
    "http-head",
    tokens: [
      "GET ", "HEAD ", "POST ", "/feeds/", "/open", "?a=b", "&", "HTTP/1.1", " HTTP/1.1\r\n", "\r\n\r\n",
      "\nHost: ", "localhost",
      "127.0.0.1",
      "[::1]", "[::1]evil.com", "localhost:8080", "evil.com", "\nAuthorization: Bearer ", HTTPHeadRun.token,
      "\nAccept: ", "application/json", "text/*;q=0.5", "*/*", ";q=", "1.000", "\nContent-Length: ",
      "\nTransfer-Encoding: chunked", "\nSec-Fetch-Site: cross-site", "\nSec-Fetch-Mode: navigate", "%2F",
      "%c3%a9",
      "\n: ", ".localhost", "::ffff:127.0.0.1",
    ]
  ) { input throws(FuzzFailure) in
    let run = HTTPHeadRun(input)
    try run.checkVerdicts()
    try run.checkLists()
    try run.checkHosts()
    // On the network, lines end with CR LF.
    let lineEnds = input.text.split(separator: "\n", omittingEmptySubsequences: false).joined(
      separator: "\r\n"
    )
    for head in [
      input, Array(lineEnds.utf8), Array((lineEnds + " HTTP/1.1\r\nHost: localhost\r\n\r\n").utf8),
    ] {
      try RawHTTPHeadRun(head).checkCuts()
    }
  }
}
