import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Gives the token for requests, or nil for none. It is asked for each connection, and again when a token has been refused or is about
/// to end.
public typealias TokenSource = @Sendable () async throws -> String?

enum BearerToken {
  private static let renewalBefore = 30_000

  /// When a JSON Web Token ends, which is not verified; nil for other tokens.
  static func end(_ token: String) -> Milliseconds? { time("exp", token) }

  private static func time(_ claim: String, _ token: String) -> Milliseconds? {
    claims(token)?[claim].flatMap { JSONValue.value($0, depth: 0).number }.flatMap {
      abs($0) < 1e12 ? Milliseconds($0 * 1000) : nil
    }
  }

  static func claims(_ token: String) -> JSONObject? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return Data(base64Encoded: text).flatMap { JSONObject(try? JSONText(checking: Array($0))) }
  }

  /// After how long to ask for a newer one: 30 s before its end, or at half of what is left if that is later.
  static func renewal(of token: String, now: Milliseconds) -> Milliseconds? {
    end(token).map { max($0 - now - renewalBefore, ($0 - now) / 2, HeldTokens.earlyPause) }
  }

  /// Whether a token was refused because it is not valid yet: the clocks of those who sign and who verify differ.
  static func isEarly(_ token: String, _ problem: HTTPProblem?, now: Milliseconds) -> Bool {
    problem?.detail.contains("not valid yet") == true || time("nbf", token).map { $0 > now } ?? false
  }
}
