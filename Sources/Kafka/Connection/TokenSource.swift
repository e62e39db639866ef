import CRdkafka
import Synchronization

/// Obtains tokens (SASL OAUTHBEARER) for all clients that have this object. They share each token and each failure.
///
/// librdkafka asks for a token when a client starts, after 80 % of a token's time, and 10 s after a failure.
public final class TokenSource: Sendable, Hashable {
  /// A token, its end in milliseconds since 1970, and the milliseconds until then.
  public typealias Token = (value: String, end: Int64, duration: Int64)

  /// The facility of log lines about failures.
  public static let facility = "TOKEN"

  private struct State {
    var token: Token?
    /// Until then, clients get the same token or failure.
    var next = ContinuousClock.now
  }

  private let obtain: @Sendable () throws -> Token
  private let state = Mutex(State())
  private let failed = Mutex<String?>(nil)

  /// - Parameter obtain: blocks until there is a token. It throws a description without secrets.
  public init(obtain: @escaping @Sendable () throws -> Token) { self.obtain = obtain }

  /// Why the last attempt failed; nil if it did not. Does not wait for attempts.
  public var failure: String? { failed.withLock { $0 } }

  /// All instances are equal: configurations that differ only here configure the same client.
  public static func == (_: TokenSource, _: TokenSource) -> Bool { true }
  public func hash(into hasher: inout Hasher) {}

  /// Has librdkafka ask for tokens.
  static func register(on configuration: borrowing ConfigurationHandle) {
    rd_kafka_conf_enable_sasl_queue(configuration.pointer, 1)
    rd_kafka_conf_set_oauthbearer_token_refresh_cb(configuration.pointer) { client, _, opaque in
      guard let client, let context = CallbackContext.from(opaque) else { return }
      context.tokens?.provide(to: client, context)
    }
  }

  /// Called on a thread of librdkafka for this purpose, which may block.
  private func provide(to client: OpaquePointer, _ context: CallbackContext) {
    let token = state.withLock { state in
      guard state.next <= .now else { return state.token }
      do {
        let token = try obtain()
        state = State(token: token, next: .now + .milliseconds(token.duration / 5 * 4))
        failed.withLock { $0 = nil }
      } catch {
        // Less than librdkafka's pause.
        state.next = .now + .seconds(5)
        failed.withLock { $0 = "\(error)" }
      }
      return state.token
    }
    // Fails if the token has ended.
    let (code, text) = withErrorText { text, size in
      let (value, end, _) = token ?? ("", 0, 0)
      return rd_kafka_oauthbearer_set_token(client, value, end, "feedstore", nil, 0, text, size)
    }
    let isGiven = code == RD_KAFKA_RESP_ERR_NO_ERROR
    if !isGiven, token != nil {
      // Perhaps the system's clock has jumped, and the token has ended earlier than expected.
      state.withLock { $0.next = .now }
      failed.withLock { $0 = $0 ?? text }
    }
    let reason = failure ?? (isGiven ? nil : text)
    // Logged first, because the process may end when the failure is noted. The log counts repetitions by all clients.
    if let reason { context.log(.error, Self.facility, reason) }
    context.faults.note(tokenFailure: isGiven ? nil : reason)
    // The client keeps the token that it has.
    if let reason { rd_kafka_oauthbearer_set_token_failure(client, reason) }
  }
}
