import Foundation

/// Gives the token for requests, or nil for none. It is asked for each connection, and again when a token has been refused or is about
/// to end.
public typealias TokenSource = @Sendable () async throws -> String?

enum BearerToken {
  /// When a JSON Web Token ends, which is not verified; nil for other tokens.
  static func end(_ token: String) -> Date? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    guard let claims = Data(base64Encoded: text),
      let object = JSONObject(try? JSONText(checking: Array(claims))),
      let seconds = object["exp"].flatMap({ JSONValue.value($0, depth: 0).number }), seconds.isFinite
    else { return nil }
    return Date(timeIntervalSince1970: seconds)
  }

  /// After how many seconds to send a newer one: 30 s before its end, or at half of what is left if that is less.
  static func renewal(of token: String, now: Date) -> Double? {
    end(token).map { max(0, max($0.timeIntervalSince(now) - 30, $0.timeIntervalSince(now) / 2)) }
  }
}
