import Feed
import HTTP
import Kafka

/// The routes that accept events of feeds, and report their outcomes (docs/http.md).
extension FeedRoutes {
  /// The maximum wait of a client.
  private static let mostSeconds = 30

  /// The writer, and the feed, which the client may write.
  private func checked(_ request: HTTPRequest) throws -> (EventWriter, ByteText) {
    guard let writer else {
      let detail = "this instance takes no events; http.writes.enabled turns that on"
      throw HTTPRefusal(403, "writes-off", detail)
    }
    let feed = ByteText(request.parameters["feed"] ?? "")
    guard request.rights.mayWrite(feed.string) else {
      let detail = "the token does not allow to write the feed \(feed.string.debugDescription)"
      throw HTTPRefusal(403, "forbidden", detail)
    }
    return (writer, feed)
  }

  func write(_ request: HTTPRequest) throws -> HTTPResponse {
    let (writer, feed) = try checked(request)
    if let rejection = writer.rejection(of: feed, request.content) { return rejection.response }
    let wait = Self.wait(request.header("Prefer"))
    return .later { response in
      let write = EventWriter.Write(
        feed: feed,
        value: request.content,
        wait: wait,
        authorization: request.header("Authorization"),
        response: response
      )
      if !writer.write(write) { response.give(EventWriter.tooMany.response) }
    }
  }

  /// Answers with the outcome of a record.
  func outcome(_ request: HTTPRequest) throws -> HTTPResponse {
    let (writer, feed) = try checked(request)
    try request.checkQuery("partition", "offset")
    guard let partition = try partition(of: request), let text = request.queryValue("offset"),
      let offset = Int64(text), offset >= 0
    else { throw invalidParameter("partition and offset are needed, both numbers from 0") }
    guard (1...255).contains(feed.string.utf8.count) else {
      throw invalidParameter("the feed has \(feed.string.utf8.count) bytes; expected 1 to 255")
    }
    let record = WriteOutcomes.Record(
      feed: feed,
      place: TopicPartition(topic: writer.topic, partition: partition),
      offset: offset,
      authorization: request.header("Authorization"),
      isForwarded: request.header("Feedstore-Forwarded") != nil
    )
    let wait = Self.wait(request.header("Prefer"))
    return .later { writer.outcomes.answer(record, wait, $0) }
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
