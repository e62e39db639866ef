import FoundationEssentials
import HTTPTestSupport

/// The response of `GET /v1/feeds`.
struct Page: Decodable {
  struct Entry: Decodable {
    let feed: String
    let partition: Int
    let revision: Int
    let items: Int
    let otherPartitions: [Int]?
  }

  let count: Int
  let feeds: [Entry]
  let next: String?

  init(_ response: HTTPTestResponse) throws {
    self = try JSONDecoder().decode(Page.self, from: Data(response.body))
  }
}
