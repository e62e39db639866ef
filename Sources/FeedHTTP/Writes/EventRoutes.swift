import Feed
import Service

/// The route that takes events of feeds (docs/http.md).
extension FeedRoutes {
  /// The longest that a client waits.
  private static let mostSeconds = 30

  func write(_ request: HTTPRequest) throws -> HTTPResponse {
    guard let writer else {
      let detail = "this instance takes no events; http.writes.enabled turns that on"
      throw HTTPRefusal(403, "writes-off", detail)
    }
    let feed = ByteText(request.parameters["feed"] ?? "")
    guard request.rights.mayWrite(feed.string) else {
      let detail = "the token does not allow to write the feed \(feed.string.debugDescription)"
      throw HTTPRefusal(403, "forbidden", detail)
    }
    if let rejection = writer.rejection(of: feed, request.content) { return rejection.response }
    let wait = Self.wait(request.header("Prefer"))
    return .later { response in
      let write = EventWriter.Write(feed: feed, value: request.content, wait: wait, response: response)
      if !writer.write(write) { response.give(EventWriter.tooMany.response) }
    }
  }

  /// The preference `wait` (RFC 7240, section 4.3).
  private static func wait(_ preferences: String?) -> Duration? {
    for preference in preferences?.split(separator: ",") ?? [] {
      let words = preference.split { " \t=".contains($0) }
      // Parameters of the preference follow a semicolon.
      guard words.count >= 2, words[0].lowercased() == "wait",
        let seconds = words[1].split(separator: ";").first.flatMap({ Int($0) })
      else { continue }
      return seconds > 0 ? .seconds(min(seconds, mostSeconds)) : nil
    }
    return nil
  }
}
