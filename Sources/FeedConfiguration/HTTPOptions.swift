package import HTTP
package import Settings

/// Whether and how a daemon serves health, status, metrics and feeds over HTTP. Empty strings mean none.
package struct HTTPOptions: Sendable, Equatable {
  package var isEnabled = false
  package var servesFeeds = true
  /// The address, and limits of connections and streams; 0 connections for each address are three quarters of all, so that no
  /// address can block all others. ``HTTPServerConfiguration/init(_:tokens:tls:)`` derives other values.
  package var server = HTTPServerConfiguration()
  package var token = ""
  package var tokenFile = ""
  package var jwtKeys = ""
  package var jwtAuthority = ""
  package var jwt = TokenPolicy()
  package var allowedOrigins = ""
  package var tlsCertificate = ""
  package var tlsKey = ""
  package var tlsClientAuthority = ""
  package var metricsWithoutToken = false
  package var advertisedURL = ""
  package var maxHistoryBytes = 32 << 20
  package var maxReloadBytes = 256 << 20
  package var maxFeedsPerStream = 256
  package var maxWindows = 10_000
  package var maxWindowItems = 10_000
  package var maxRequestBytes = 1 << 20
  package var takesWrites = false

  package init() {
    server.port = 8321
    server.maxConnectionsPerAddress = 0
  }

  /// The URL to which other instances refer clients for this one's feeds; empty if it serves none or is not announced.
  package var feedsURL: String { isEnabled && servesFeeds ? advertisedURL : "" }

  /// The certificate and key for HTTPS; nil for plain HTTP.
  ///
  /// - Throws: ``ConfigurationError`` that names the key of the file.
  package func tlsCredentials() throws(ConfigurationError) -> TLSCredentials? {
    let files = [
      ("http.tls.certificate", tlsCertificate), ("http.tls.key", tlsKey),
      ("http.tls.clientAuthority", tlsClientAuthority),
    ]
    guard let given = files.first(where: { !$0.1.isEmpty }) else { return nil }
    for (key, path) in files.prefix(2) where path.isEmpty {
      throw ConfigurationError(
        "\(key) is empty, and \(given.0) is \"\(given.1)\"; HTTPS needs both a certificate and its key"
      )
    }
    do throws(HTTPServerError) {
      return try TLSCredentials(
        certificate: tlsCertificate,
        key: tlsKey,
        clientAuthority: tlsClientAuthority.isEmpty ? nil : tlsClientAuthority
      )
    } catch {
      let key =
        switch error.code {
        case .key: "http.tls.key"
        case .clientAuthority: "http.tls.clientAuthority"
        default: "http.tls.certificate"
        }
      throw ConfigurationError("\(key): \(error.message)")
    }
  }

  /// The accepted tokens.
  ///
  /// - Throws: ``ConfigurationError`` if the token or the keys of tokens cannot be read or used.
  package func acceptedTokens() throws(ConfigurationError) -> AcceptedTokens {
    AcceptedTokens(bearer: try bearerToken(), verifier: try tokenVerifier())
  }

  private func bearerToken() throws(ConfigurationError) -> BearerToken? {
    if token.isEmpty, tokenFile.isEmpty { return nil }
    guard token.isEmpty || tokenFile.isEmpty else {
      throw ConfigurationError(
        "http.tokenFile is \"\(tokenFile)\", and http.token (FEEDSTORE_HTTP_TOKEN) is set as well; remove one of the two"
      )
    }
    let key = tokenFile.isEmpty ? "http.token" : "http.tokenFile"
    do throws(HTTPServerError) {
      return tokenFile.isEmpty ? try BearerToken(token) : try BearerToken(file: tokenFile)
    } catch {
      throw ConfigurationError("\(key): \(error.message)")
    }
  }

  private func tokenVerifier() throws(ConfigurationError) -> TokenVerifier? {
    if jwtKeys.isEmpty { return nil }
    do throws(HTTPServerError) {
      return try TokenVerifier(keys: jwtKeys, authority: jwtAuthority, jwt)
    } catch {
      let key = error.code == .tokenKeys ? "http.jwt.keys" : "http.jwt.authority"
      throw ConfigurationError("\(key): \(error.message)")
    }
  }
}
