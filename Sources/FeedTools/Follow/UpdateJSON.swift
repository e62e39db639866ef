import Feed
import FeedClient

/// Updates as lines of JSON: changesets as they are on the topic (protocol, section 4), each part on its own line. A
/// state is a reload with the reason `keyframe`.
///
/// Other updates have the fields `feed` and `error`, and for `must-refetch` a `message`.
enum UpdateJSON {
  static func lines(_ update: FeedUpdate) -> String {
    switch update {
    case .present(let content, _): line(content.reloadDocument())
    case .changed(let changeset, _): changeset.values.map(line).joined()
    case .absent(_, let changeset?): line(changeset)
    case .absent(let feed, nil): "{\"feed\":\(quoted(feed)),\"error\":\"absent\"}\n"
    case .mustRefetch(let feed, let reason):
      "{\"feed\":\(quoted(feed)),\"error\":\"must-refetch\",\"message\":\(quoted(reason))}\n"
    }
  }

  private static func line(_ value: [UInt8]) -> String { String(decoding: value, as: UTF8.self) + "\n" }

  private static func quoted(_ text: String) -> String { JSONData(string: text).description }
}
