import Feed
import FoundationEssentials
import HTTP
import Settings
import Spelling

/// The content of `POST /v1/streams`.
struct StreamOpening: Decodable {
  let feeds: [RequestedFeed]

  init(from decoder: any Decoder) throws {
    let object = try ContentObject(decoder, ["feeds"])
    guard let feeds = try object.value("feeds", [RequestedFeed].self) else {
      throw object.fault("feeds", "is missing")
    }
    self.feeds = feeds
  }
}

/// The content of `PATCH /v1/streams/{stream}`.
struct StreamAlteration: Decodable {
  let add: [RequestedFeed]
  let remove: [RequestedFeed]

  init(from decoder: any Decoder) throws {
    let object = try ContentObject(decoder, ["add", "remove"])
    add = try object.value("add", [RequestedFeed].self) ?? []
    remove = try object.value("remove", [RemovedFeed].self)?.map(\.feed) ?? []
  }

  /// A feed by its id, or with its partition.
  private struct RemovedFeed: Decodable {
    let feed: RequestedFeed

    init(from decoder: any Decoder) throws {
      if let id = try? decoder.singleValueContainer().decode(String.self) {
        feed = RequestedFeed(feed: id)
      } else {
        feed = try RequestedFeed(decoder, ["feed", "view", "partition"])
      }
    }
  }
}

/// A feed in the content or the query of a request, which is checked by ``request(maxItems:)``.
struct RequestedFeed: Decodable {
  var feed: String
  var view: String?
  var partition: Int?
  var sections: [String]?
  var first: Int?
  var from: Int?
  var count: Int?
  var epoch: String?
  var revision: Int?

  init(feed: String) { self.feed = feed }

  /// The window in a query, without a version.
  init(_ request: HTTPRequest) throws(ContentFault) {
    feed = request.parameters["feed"] ?? ""
    let sections = request.query.filter { $0.name == "sections" }.map(\.value)
    if !sections.isEmpty { self.sections = sections }
    first = try Self.number("first", in: request)
    from = try Self.number("from", in: request)
    count = try Self.number("count", in: request)
  }

  private static func number(_ name: String, in request: HTTPRequest) throws(ContentFault) -> Int? {
    guard let text = request.queryValue(name) else { return nil }
    guard let number = Int(text) else {
      throw ContentFault(name, "is \(text.debugDescription); expected a number from 0")
    }
    return number
  }

  init(from decoder: any Decoder) throws {
    try self.init(
      decoder,
      ["feed", "view", "partition", "sections", "first", "from", "count", "epoch", "revision"]
    )
  }

  fileprivate init(_ decoder: any Decoder, _ names: [String]) throws {
    let object = try ContentObject(decoder, names)
    guard let feed = try object.value("feed", String.self) else { throw object.fault("feed", "is missing") }
    self.feed = feed
    view = try object.value("view", String.self)
    partition = try object.number("partition")
    sections = try object.value("sections", [String].self)
    first = try object.number("first")
    from = try object.number("from")
    count = try object.number("count")
    epoch = try object.value("epoch", String.self)
    revision = try object.number("revision")
    if let problem = Self.problem(in: [feed]) { throw object.fault("feed", problem) }
    if let bytes = view?.utf8.count, !(1...64).contains(bytes) {
      throw object.fault("view", "has \(bytes) bytes; expected 1 to 64")
    }
  }

  /// The problem with a list of ids, if any.
  private static func problem(in ids: [String]) -> String? {
    ids.first { !(1...255).contains($0.utf8.count) }
      .map { "has an id of \($0.utf8.count) bytes; expected 1 to 255" }
  }

  /// The requested view.
  ///
  /// - Parameter maxItems: the maximum number of items of a section in a window.
  func request(maxItems: Int) throws(ContentFault) -> FeedRequest {
    let figures = [
      ("partition", partition, Int(Int32.max)), ("first", first, maxItems), ("from", from, .max),
      ("count", count, maxItems), ("revision", revision, .max),
    ]
    for (name, value, most) in figures {
      guard let value, !(0...most).contains(value) else { continue }
      throw ContentFault(name, "is \(value); expected a number from 0\(most < .max ? " to \(most)" : "")")
    }
    guard (epoch == nil) == (revision == nil) else {
      throw ContentFault(
        epoch == nil ? "revision" : "epoch",
        "needs \(epoch == nil ? "epoch" : "revision") as well"
      )
    }
    return FeedRequest(
      feed: ByteText(feed),
      viewName: view.map { ByteText($0) },
      partition: partition.map { Int32($0) },
      window: try window(),
      version: epoch.flatMap { epoch in revision.map { FeedVersion(epoch: epoch, revision: UInt64($0)) } }
    )
  }

  private func window() throws(ContentFault) -> FeedWindow? {
    if sections?.isEmpty == true {
      throw ContentFault("sections", "is empty; leave it out to see all sections")
    }
    if let problem = Self.problem(in: sections ?? []) { throw ContentFault("sections", problem) }
    var extent = FeedWindow.Extent.all
    if let from {
      if first != nil { throw ContentFault("from", "and first exclude each other") }
      guard let count else { throw ContentFault("from", "needs count as well") }
      guard let sections, Set(sections.map { ByteText($0) }).count == 1 else {
        throw ContentFault("from", "needs exactly one section in sections")
      }
      extent = .slice(from: from, count: count)
    } else if count != nil {
      throw ContentFault("count", "needs from as well")
    } else if let first {
      extent = .first(first)
    }
    return sections == nil && extent == .all ? nil : FeedWindow(sections: sections, extent: extent)
  }
}

/// A fault in the content of a request.
struct ContentFault: HTTPRefusing {
  /// The member, such as `feeds[2].first`; empty for the whole content.
  let member: String
  let detail: String

  /// - Parameter problem: the rest of the sentence after the member.
  init(_ member: String, _ problem: String) {
    self.member = member
    detail = "\(member.isEmpty ? "the content" : member) \(problem)"
    self.problem = problem
  }

  private let problem: String

  var response: HTTPResponse {
    .problem(status: 400, code: "invalid-content", detail: detail, members: ["member": member])
  }

  /// The same fault in a member of another one.
  func within(_ outer: String) -> ContentFault { ContentFault("\(outer).\(member)", problem) }

  static func decode<Content: Decodable>(_ content: [UInt8]) throws(ContentFault) -> Content {
    do {
      return try DecodableJSON(content).decode()
    } catch let fault as ContentFault {
      throw fault
    } catch DecodingError.dataCorrupted(let context) where context.codingPath.isEmpty {
      throw ContentFault(
        "",
        "is not JSON in UTF-8: \(context.underlyingError.map { "\($0)" } ?? context.debugDescription)"
      )
    } catch let error as DecodingError {
      throw ContentFault(error.place, "is not valid: \(error.context?.debugDescription ?? "")")
    } catch {
      throw ContentFault("", "cannot be read: \(error)")
    }
  }
}

/// An object in the content of a request.
private struct ContentObject {
  private let container: KeyedDecodingContainer<AnyKey>

  /// - Parameter names: the names of the allowed members.
  init(_ decoder: any Decoder, _ names: [String]) throws {
    container = try decoder.container(keyedBy: AnyKey.self)
    guard let unknown = container.allKeys.map(\.stringValue).filter({ !names.contains($0) }).min() else {
      return
    }
    let nearest = NearestName.suggestion(for: unknown, among: names)
    throw fault(
      unknown,
      "is not known; \(nearest.map { "did you mean \($0)?" } ?? "known: \(names.joined(separator: ", "))")"
    )
  }

  /// A member's value; nil if it is absent.
  func value<Value: Decodable>(_ name: String, _ type: Value.Type) throws -> Value? {
    let name = AnyKey(stringValue: name)
    return container.contains(name) ? try container.decode(type, forKey: name) : nil
  }

  /// A whole number, which JSON may also spell as `1.0`; nil if it is absent.
  func number(_ name: String) throws -> Int? {
    if let number = try? value(name, Int.self) { return number }
    guard let value = try value(name, Double.self) else { return nil }
    guard let number = Int(exactly: value) else { throw fault(name, "is \(value); expected a whole number") }
    return number
  }

  func fault(_ name: String, _ problem: String) -> ContentFault {
    ContentFault((container.codingPath + [AnyKey(stringValue: name)]).place, problem)
  }
}
