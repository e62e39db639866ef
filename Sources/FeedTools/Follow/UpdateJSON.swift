import Feed
import FeedClient

/// Updates as lines of JSON: changesets as they are on the topic (protocol, section 4), each part on its own line, with
/// the member `partition` before the others. A state is a reload with the reason `keyframe`; `"stale":true` follows
/// `partition` if it is outdated.
///
/// Other updates have the fields `partition` (unless no partition has the feed), `feed` and `error`, and for
/// `must-refetch` a `message`.
enum UpdateJSON {
  static func lines(_ update: FeedUpdate) -> String {
    var beginning = update.partition.map { "{\"partition\":\($0)," } ?? "{"
    /// A changeset, which is an object with members.
    func line(_ value: [UInt8]) -> String {
      let members = value.drop { $0 != UInt8(ascii: "{") }.dropFirst()
      return beginning + String(decoding: members, as: UTF8.self) + "\n"
    }
    switch update {
    case .present(let content, _):
      if content.description.outdated != nil { beginning += "\"stale\":true," }
      return line(content.reloadDocument())
    case .changed(let changeset, _): return changeset.values.map(line).joined()
    case .absent(_, _, let changeset?): return line(changeset)
    case .absent(let feed, _, nil): return beginning + "\"feed\":\(quoted(feed)),\"error\":\"absent\"}\n"
    case .mustRefetch(let feed, _, let reason):
      return beginning
        + "\"feed\":\(quoted(feed)),\"error\":\"must-refetch\",\"message\":\(quoted(reason))}\n"
    }
  }

  private static func quoted(_ text: String) -> String { JSONData(string: text).description }
}
