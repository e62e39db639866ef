import Feed
import HTTP
import Kafka

/// The routes that accept events of feeds and contents, and report the outcomes of events (docs/http.md).
extension FeedRoutes {
  /// The maximum wait of a client.
  private static let mostSeconds = 30

  private func presentWriter() throws -> EventWriter {
    if let writer { return writer }
    let detail = "this instance takes no writes; http.writes.enabled turns that on"
    throw HTTPRefusal(403, "writes-off", detail)
  }

  /// The writer, and the feed, which the client may write.
  private func checked(_ request: HTTPRequest) throws -> (EventWriter, ByteText) {
    let writer = try presentWriter()
    let feed = ByteText(request.parameters["feed"] ?? "")
    guard request.rights.mayWrite(feed.string) else {
      let detail = "the token does not allow writing the feed \(feed.string.debugDescription)"
      throw HTTPRefusal(403, "forbidden", detail)
    }
    return (writer, feed)
  }

  func write(_ request: HTTPRequest) throws -> HTTPResponse {
    let (writer, feed) = try checked(request)
    let value: [UInt8]
    do {
      value = try checked(request, feed, writer)
    } catch let rejection as Rejection {
      return rejection.response()
    }
    let wait = Self.wait(request.header("Prefer"))
    return .later { response in
      let write = EventWriter.Write(
        topic: writer.topic,
        id: feed,
        value: value,
        wait: wait,
        authorization: request.header("Authorization"),
        response: response
      )
      if !writer.write(write) { response.give(EventWriter.tooMany.response) }
    }
  }

  /// - Parameter value: nil to delete the content.
  func writeContent(_ request: HTTPRequest, _ value: [UInt8]?) throws -> HTTPResponse {
    let writer = try presentWriter()
    guard let topic = writer.contents else {
      let detail = "this instance has no contents; topics.contents names their topic"
      throw HTTPRefusal(404, "contents-off", detail)
    }
    let id = ByteText(request.parameters["content"] ?? "")
    guard request.rights.mayWrite(content: id.string) else {
      let detail = "the token does not allow writing the content \(id.string.debugDescription)"
      throw HTTPRefusal(403, "forbidden", detail)
    }
    guard request.header("If-Match") == nil else {
      throw invalidParameter("If-Match is for feeds; a content has no version")
    }
    do {
      try writer.check(content: id, value)
    } catch {
      return error.response()
    }
    return .later { response in
      let write = EventWriter.Write(topic: topic, id: id, value: value, response: response)
      if !writer.write(write) { response.give(EventWriter.tooMany.response) }
    }
  }

  /// The value of the record, with the condition of `If-Match`.
  private func checked(_ request: HTTPRequest, _ feed: ByteText, _ writer: EventWriter) throws -> [UInt8] {
    var value = request.content
    var hasConditions = try writer.check(feed, value)
    if let tag = request.header("If-Match") {
      guard let version = EntityTag.tag(in: tag).flatMap({ FeedVersion($0) }) else {
        let detail = "If-Match is \(tag.debugDescription); expected one tag as in ETag: \"EPOCH@REVISION\""
        throw invalidParameter(detail)
      }
      // The first brace begins the first event.
      guard !hasConditions, let brace = value.firstIndex(of: UInt8(ascii: "{")) else {
        throw invalidParameter("If-Match needs an event; it and the \"if\" of an event exclude each other")
      }
      let epoch = JSONData(string: version.epoch)
      value.insert(
        contentsOf: "\"if\":{\"epoch\":\(epoch),\"revision\":\(version.revision)},".utf8,
        at: brace + 1
      )
      hasConditions = try writer.check(feed, value)
    }
    guard !hasConditions || request.rights.mayRead(feed.string) else {
      let detail = "a condition tells what a feed has; the token does not allow reading the feed"
      throw HTTPRefusal(403, "forbidden", detail)
    }
    return value
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
      isForwarded: request.header("Feedstore-Forwarded") != nil,
      mayRead: request.rights.mayRead(feed.string)
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
