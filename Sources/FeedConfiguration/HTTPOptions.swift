package import Service

/// Whether and how a daemon serves health, status, metrics and feeds over HTTP (docs/settings.md).
package struct HTTPOptions: Sendable, Equatable {
  /// Whether it serves HTTP at all.
  package var isEnabled = false
  /// Whether it serves feeds and the inspector as well, which takes a second copy of the feeds.
  package var servesFeeds = true
  /// The address, and limits of connections and streams; 0 connections for each address are three quarters of all, so that no
  /// address can block all others. ``HTTPServerConfiguration/init(_:tokens:tls:)`` sets what follows from the rest.
  package var server = HTTPServerConfiguration()
  /// The bearer token; empty for none.
  package var token = ""
  /// A file that holds the bearer token; empty for none.
  package var tokenFile = ""
  /// A file that has the keys of JSON Web Tokens; empty if none are accepted.
  package var jwtKeys = ""
  /// Who must have issued them; empty for anyone.
  package var jwtIssuer = ""
  /// For whom they must be; empty for anyone.
  package var jwtAudience = ""
  /// How much their signers' clocks may differ, in milliseconds.
  package var jwtLeewayMilliseconds: Int64 = 5_000
  /// The origins whose pages may read responses, separated by spaces.
  package var allowedOrigins = ""
  /// A file that has the certificate for HTTPS, in PEM; empty for plain HTTP.
  package var tlsCertificate = ""
  /// A file that has its key, in PEM.
  package var tlsKey = ""
  /// A file that has the authorities of the certificates that clients must show, in PEM; empty if they need none.
  package var tlsClientAuthority = ""
  package var metricsWithoutToken = false
  /// The URL at which clients reach this instance; empty if it is not announced to other instances.
  package var advertisedURL = ""
  /// Bytes of changesets kept for readers that reconnect, over all feeds.
  package var maxHistoryBytes = 32 << 20
  /// The maximum size of complete feeds that are being sent, in bytes. Above it, the slowest readers are disconnected.
  package var maxReloadBytes = 256 << 20
  package var maxFeedsPerStream = 256
  package var maxWindows = 10_000
  /// The maximum number of items of each section that a window shows.
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

  /// The tokens of which clients must show one.
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
      return try TokenVerifier(
        keysFile: jwtKeys,
        issuer: jwtIssuer,
        audience: jwtAudience,
        leeway: jwtLeewayMilliseconds
      )
    } catch {
      throw ConfigurationError("http.jwt.keys: \(error.message)")
    }
  }
}
