import OperatingSystem
import Synchronization

/// The keys of an identity provider, which are fetched from its URL on a thread of their own.
///
/// They are fetched at the start, every hour, when asked to, and for a token that names an unknown key. After a failure, the former
/// keys stay for a day, and the fetch is repeated.
package final class FetchedTokenKeys: Sendable, Equatable {
  /// The result of the fetches, for operators.
  package struct Status: Sendable, Equatable, Encodable {
    package let url: String
    /// The number of keys that can be used.
    package fileprivate(set) var keys = 0
    /// The last fetch that succeeded; nil for none.
    package fileprivate(set) var fetchedAt: String?
    /// Why the last fetch failed, and which keys cannot be used; nil if it is well.
    package fileprivate(set) var failure, leftOut: String?
  }

  private struct State {
    var status: Status
    var keys: TokenKeys?
    var isFetching = false
    var failures = 0
    // In milliseconds of the monotonic clock.
    var due = Int64.min
    var begun = Int64.min
    var keptUntil = Int64.min
  }

  private let url, authority, issuer: String
  private let state: Mutex<State>

  private static let interval: Int64 = 3_600_000
  private static let retention: Int64 = 24 * interval
  private static let retry = ExponentialBackoff<Int64>(from: 1_000, to: 60_000)
  /// The minimum between two fetches for unknown keys, which anyone can name.
  private static let pause: Int64 = 30_000
  private static let (timeout, mostRedirects) = (10_000 as Int64, 5)
  static let remedy = """
    http.jwt.keys must be the address of your identity provider's keys (jwks_uri), or of its discovery document, \
    which ends in /.well-known/openid-configuration
    """

  /// The URL of a JSON Web Key Set, or of a document of OpenID Connect Discovery, of this issuer, that leads to one.
  init(_ url: String, authority: String, issuer: String) {
    (self.url, self.authority, self.issuer) = (url, authority, issuer)
    state = Mutex(State(status: Status(url: url)))
  }

  package static func isURL(_ place: String) -> Bool { place.hasPrefix("https://") }

  package static func == (first: FetchedTokenKeys, second: FetchedTokenKeys) -> Bool {
    (first.url, first.authority, first.issuer) == (second.url, second.authority, second.issuer)
  }

  package var status: Status { state.withLock(\.status) }

  /// The keys that can verify a token.
  ///
  /// - Throws: a refusal for now if there are none, or if they are being fetched and the token's key is unknown.
  func keys(
    _ algorithm: String,
    id: String?,
    at now: Int64 = MonotonicClock.milliseconds()
  ) throws(HTTPRefusal) -> [TokenKey] {
    let found = state.withLock { state -> [TokenKey]? in
      guard let keys = state.keys, now < state.keptUntil else { return nil }
      let found = keys.keys(algorithm, id: id)
      guard found.isEmpty, id != nil else { return found }
      if now >= state.begun + Self.pause { state.due = min(state.due, now) }
      return state.isFetching || state.due <= now ? nil : found
    }
    if let found { return found }
    let detail = "the keys that verify this token are not available yet; they are being fetched"
    throw .unavailable("keys-unavailable", detail)
  }

  /// Has the keys fetched now.
  package func refresh() { state.withLock { $0.due = .min } }

  /// Begins a fetch if it is time for one. Call it every second.
  ///
  /// - Parameter report: called on another thread, with the status before and after the fetch.
  package func fetchIfDue(
    at now: Int64 = MonotonicClock.milliseconds(),
    report: @escaping @Sendable (_ former: Status, _ status: Status) -> Void
  ) {
    guard begin(at: now) else { return }
    let thread = SystemThread("token-keys") {
      let former = self.status
      report(former, self.fetchOnce())
    }
    thread?.detach()
    if thread == nil { end(.failure(Self.error("\(url): no thread can be started")), at: now) }
  }

  /// Fetches the keys, and waits for them.
  package func fetchOnce() -> Status {
    end(Result { () throws(HTTPServerError) in try fetch() }, at: MonotonicClock.milliseconds())
    return status
  }

  func begin(at now: Int64) -> Bool {
    state.withLock { state in
      guard !state.isFetching, state.due <= now else { return false }
      state.isFetching = true
      state.begun = now
      state.due = .max
      return true
    }
  }

  func end(_ result: Result<TokenKeys, HTTPServerError>, at now: Int64) {
    state.withLock { state in
      state.isFetching = false
      switch result {
      case .success(let keys):
        state.keys = keys
        state.keptUntil = now + Self.retention
        state.failures = 0
        state.due = min(state.due, now + Self.interval)
        state.status = Status(
          url: url,
          keys: keys.count,
          fetchedAt: Timestamp.rfc3339(milliseconds: WallClock.milliseconds()),
          leftOut: keys.faults
        )
      case .failure(let error):
        state.due = min(state.due, now + Self.retry[state.failures])
        state.failures += 1
        state.status.failure = error.message
        if now >= state.keptUntil { state.status.keys = 0 }
      }
    }
  }

  private func fetch() throws(HTTPServerError) -> TokenKeys {
    let answer = try get(url)
    guard case .object(let document)? = try? DecodableJSON(answer).decode(ClaimValue.self) else {
      throw Self.error("\(url) did not answer with a JSON object, but perhaps with a page; \(Self.remedy)")
    }
    guard case .text(let target)? = document["jwks_uri"] else { return try TokenKeys(url, published: answer) }
    let found = if case .text(let text)? = document["issuer"] { text } else { "" }
    guard issuer.isEmpty || found == issuer else {
      throw Self.error(
        "\(url) describes the issuer \"\(found)\", and http.jwt.issuer is \"\(issuer)\"; correct one of the two"
      )
    }
    guard Self.isURL(target) else {
      throw Self.error(
        "\(url) has the jwks_uri \"\(target)\", which is not an https address; correct it there"
      )
    }
    return try TokenKeys(target, published: try get(target))
  }

  /// The content of a resource. Redirects are followed on the same host only.
  private func get(_ start: String) throws(HTTPServerError) -> [UInt8] {
    var url = start
    for _ in 0...Self.mostRedirects {
      let response: HTTPClient.Response
      do throws(HTTPClient.Failure) {
        let authorities = authority.isEmpty ? nil : authority
        response = try HTTPClient.get(url, authorities: authorities, within: Self.timeout)
      } catch {
        let remedy =
          error.isUntrusted
          ? "name the authority that signed its certificate in http.jwt.authority"
          : "check the address, and whether this machine can reach it"
        throw Self.error("\(url): \(error); \(remedy)")
      }
      guard let next = response.redirect else {
        if response.status == 200 { return response.body }
        throw Self.error("\(url) answered with HTTP status \(response.status); \(Self.remedy)")
      }
      guard Self.host(of: next) == Self.host(of: url) else {
        throw Self.error(
          "\(url) redirects to another host, \(next); if that is your identity provider's, set http.jwt.keys to it"
        )
      }
      url = next
    }
    throw Self.error("\(start) redirects more than \(Self.mostRedirects) times; \(Self.remedy)")
  }

  private static func error(_ message: String) -> HTTPServerError { HTTPServerError(.tokenKeys, message) }

  private static func host(of url: String) -> String? {
    guard isURL(url) else { return nil }
    return url.dropFirst("https://".count).prefix { !"/?#".contains($0) }.lowercased()
  }
}
