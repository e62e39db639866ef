import FeedTestSupport

@testable import Service

extension FuzzTarget {
  /// The head of a request: `METHOD TARGET`, and a line for each header field.
  ///
  /// - Without a token nobody is served who names another host; with one, nobody who does not show it.
  /// - The verdict does not depend on the case of names.
  /// - A media type that is chosen is one that there is and that is accepted.
  /// - An address, spelled again, is the same address.
  /// - What the check of raw heads says does not depend on how the bytes are cut into pieces.
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
    // As they come from the network, lines end with CR and LF.
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
