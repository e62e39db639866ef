import FoundationEssentials
package import Kafka
import OperatingSystem
import Settings

/// A program that prints a token for the brokers (`kafka.oauth.command`).
package struct TokenCommand: Sendable {
  private let command: [String]
  private let timeoutMilliseconds: Int64

  private struct Failure: Error, CustomStringConvertible { let description: String }

  /// - Parameter command: the program and its arguments.
  package init(_ command: [String], timeoutMilliseconds: Int64 = 10_000) {
    (self.command, self.timeoutMilliseconds) = (command, timeoutMilliseconds)
  }

  /// Runs the program.
  ///
  /// - Throws: the reason and the end of standard error, without what looks like a secret.
  package func run() throws -> TokenSource.Token {
    let start = WallClock.milliseconds()
    let printed: ProgramOutput
    do {
      printed = try ProgramOutput(of: command, timeoutMilliseconds: timeoutMilliseconds, atMost: 65_536)
    } catch {
      throw Failure(
        description:
          "kafka.oauth.command: \(error); its list begins with the program, and each argument is an element"
      )
    }
    do {
      if let fault = printed.fault { throw Failure(description: fault) }
      let token = try Self.token(in: String(decoding: printed.output, as: UTF8.self), at: start)
      return (token.value, token.end, token.end - WallClock.milliseconds())
    } catch {
      let text = Self.masked(String(decoding: printed.errors, as: UTF8.self)).suffix(1_000)
      let shown = text.isEmpty ? "" : "; on standard error: \(text)"
      throw Failure(description: "\(command[0]), the program of kafka.oauth.command, \(error)\(shown)")
    }
  }

  /// Reads a token: a JWT alone, or the answer of a token endpoint in JSON (RFC 6749).
  ///
  /// - Parameter now: when the program was started, in milliseconds since 1970.
  static func token(in output: String, at now: Int64) throws -> TokenSource.Token {
    let text = output.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    let members = object(text) ?? ["access_token": .string(text)]
    if let error = members["error"]?.text {
      let description = members["error_description"]?.text ?? ""
      throw Failure(description: "reports an error: \(masked("\(error) \(description)"))")
    }
    guard let token = members["access_token"]?.text, token.wholeMatch(of: /[A-Za-z0-9_.~+\/-]+=*/) != nil
    else {
      let kind = text.isEmpty ? "nothing" : "neither a JWT nor JSON with access_token"
      throw Failure(description: "printed \(kind) on standard output")
    }
    let duration = milliseconds(members["expires_in"])
    guard let end = duration.map({ now + $0 }) ?? milliseconds(claims(of: token)["exp"]) else {
      throw Failure(description: "printed a token without its end; let it print access_token and expires_in")
    }
    guard end > now else {
      throw Failure(description: "printed a token that ended at \(Timestamp.rfc3339(milliseconds: end))")
    }
    return (token, end, end - now)
  }

  /// The claims of a JWT, which the brokers verify; none if it is another kind of token.
  private static func claims(of token: String) -> [String: ConfigurationValue] {
    let parts = token.split(separator: ".")
    guard parts.count == 3 else { return [:] }
    let payload = parts[1].replacing("-", with: "+").replacing("_", with: "/")
    let padding = String(repeating: "=", count: (4 - payload.utf8.count % 4) % 4)
    return Data(base64Encoded: payload + padding).flatMap { object(String(decoding: $0, as: UTF8.self)) }
      ?? [:]
  }

  private static func object(_ text: String) -> [String: ConfigurationValue]? {
    if case .object(let members)? = ConfigurationDocument.value(of: text) { members } else { nil }
  }

  /// Converts seconds, up to the year 9999; nil if it is not a number.
  private static func milliseconds(_ value: ConfigurationValue?) -> Int64? {
    guard let seconds = value?.text.flatMap(Double.init), seconds.isFinite else { return nil }
    return Int64(min(max(0, seconds), 253_402_300_799) * 1_000)
  }

  /// Hides values after names such as `password`, and long words with digits, except host names and paths.
  static func masked(_ text: String) -> String {
    let named =
      /((?:password|passwd|secret|token|signature|assertion|api[-_]?key)[\w-]{0,40}["']?\s*[:=]\s*|--[\w-]{1,40}\s+|\b(?:bearer|basic)\s+)(?:"[^"]*"?|'[^']*'?|[^\s"',;&]+)/
      .ignoresCase()
    return text.replacing(named) { "\($0.1)***" }
      .replacing(/[\w+\/=.~%-]{16,}/) { word in
        let isName = word.0.contains { "/.".contains($0) } && !word.0.contains(where: \.isUppercase)
        return isName || !word.0.contains(where: \.isNumber) ? String(word.0) : "***"
      }
      .split(separator: "\n").joined(separator: " | ")
  }
}
