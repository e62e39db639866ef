import Foundation

/// Gives the token for requests, or nil for none. It is asked for each connection, and again when a token has been refused or is about
/// to end.
public typealias TokenSource = @Sendable () async throws -> String?

enum BearerToken {
  /// When a JSON Web Token ends, which is not verified; nil for other tokens.
  static func end(_ token: String) -> Date? { time("exp", token) }

  private static func time(_ claim: String, _ token: String) -> Date? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    var text = parts[1].replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    guard let claims = Data(base64Encoded: text),
      let object = JSONObject(try? JSONText(checking: Array(claims))),
      let seconds = object[claim].flatMap({ JSONValue.value($0, depth: 0).number }), seconds.isFinite
    else { return nil }
    return Date(timeIntervalSince1970: seconds)
  }

  /// After how many seconds to send a newer one: 30 s before its end, or at half of what is left if that is less.
  static func renewal(of token: String, now: Date) -> Double? {
    end(token).map { max(0, max($0.timeIntervalSince(now) - 30, $0.timeIntervalSince(now) / 2)) }
  }

  /// Whether a token was refused because it is not valid yet: the clocks of those who sign and who verify differ.
  static func isEarly(_ token: String?, _ problem: HTTPProblem, now: Date) -> Bool {
    guard problem.status == 401, let token else { return false }
    return problem.detail.contains("not valid yet") || time("nbf", token).map { $0 > now } ?? false
  }
}

/// The token of a program. One that is not valid yet is kept, and sent again later; until then, the one before stays in use.
struct HeldTokens {
  static let pause = 1.0
  private static let patience = 300.0
  /// The last one that was accepted.
  private var accepted: String?
  private var early: (token: String, until: Date)?

  /// The one that is not valid yet.
  func coming(_ now: Date) -> String? { early.flatMap { now < $0.until ? $0.token : nil } }

  /// One to use without asking for another one.
  func held(_ now: Date) -> String? { early == nil ? nil : inUse(now) ?? coming(now) }

  /// The one that was accepted, if it has not ended.
  func inUse(_ now: Date) -> String? {
    accepted.flatMap { BearerToken.end($0).map { $0 > now } ?? true ? $0 : nil }
  }

  /// Takes what a server says of a token; returns whether that is not valid yet.
  mutating func answered(_ token: String?, _ problem: HTTPProblem?, now: Date) -> Bool {
    let isEarly = problem.map { BearerToken.isEarly(token, $0, now: now) } ?? false
    if problem?.status != 401 { accepted = token } else if token == accepted { accepted = nil }
    if !isEarly {
      if early?.token == token { early = nil }
    } else if let token, early?.token != token {
      early = (token, now.addingTimeInterval(Self.patience))
    }
    return isEarly
  }
}
