public import Service

/// Whether and how a daemon serves health, status, metrics and feeds over HTTP (docs/http.md).
public struct HTTPOptions: Sendable, Equatable {
  /// Whether it does.
  public var isEnabled = false
  /// Whether it serves feeds and the inspector as well, which takes a second copy of the feeds.
  public var servesFeeds = true
  /// The numeric address to listen on.
  public var address = "127.0.0.1"
  /// 0 for one that the system chooses.
  public var port = 8321
  /// The bearer token; empty for none.
  public var token = ""
  /// A file that holds the bearer token; empty for none.
  public var tokenFile = ""
  /// A file that has the certificate for HTTPS, in PEM; empty for plain HTTP.
  public var tlsCertificate = ""
  /// A file that has its key, in PEM.
  public var tlsKey = ""
  /// A file that has the authorities of the certificates that clients must show, in PEM; empty if they need none.
  public var tlsClientAuthority = ""
  /// Whether metrics are served to those who show no token.
  public var metricsWithoutToken = false
  /// Where clients reach this instance; empty if nobody is to be told.
  public var advertisedURL = ""
  /// Threads that serve connections.
  public var threads = 2
  /// Connections at a time.
  public var maxConnections = 2048
  /// The same for one client address; 0 for three quarters of all, so that no address keeps out all others.
  public var maxConnectionsPerAddress = 0
  /// Streams of changes at a time.
  public var maxStreams = 1024
  /// Bytes that may wait for one slow reader of a stream.
  public var maxStreamBytes = 1 << 20
  /// Bytes of changesets kept for readers that come again, over all feeds.
  public var maxHistoryBytes = 32 << 20
  /// Bytes of feeds as they are sent as a whole, above which the slowest readers are given up.
  public var maxReloadBytes = 256 << 20
  /// Milliseconds of silence after which a stream has a comment.
  public var heartbeatMilliseconds = 15_000
  /// Seconds after which a connection is closed whose client takes nothing of what it is sent. Not configurable: it is
  /// there for tests with clients that read nothing.
  public var idleTimeoutSeconds = 60

  /// The defaults: off.
  public init() {}

  /// Where other instances send clients who want this one's feeds; empty if it serves none, or nobody is to be told.
  package var feedsURL: String { isEnabled && servesFeeds ? advertisedURL : "" }

  /// What HTTPS is served with; nil for plain HTTP.
  ///
  /// - Throws: ``ConfigurationError`` that names the key of the file.
  public func tlsCredentials() throws(ConfigurationError) -> TLSCredentials? {
    let files = [
      ("http.tls.certificate", tlsCertificate), ("http.tls.key", tlsKey),
      ("http.tls.clientAuthority", tlsClientAuthority),
    ]
    guard let given = files.first(where: { !$0.1.isEmpty }) else { return nil }
    for (key, path) in files.prefix(2) where path.isEmpty {
      throw ConfigurationError(
        .conflict,
        "\(key) is empty, and \(given.0) is \"\(given.1)\"; HTTPS needs both a certificate and its key",
        key: key
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
      throw ConfigurationError(.outOfRange, "\(key): \(error.message)", key: key)
    }
  }

  /// The token that clients must show; nil if HTTP is off, or nothing names one.
  ///
  /// - Throws: ``ConfigurationError`` if there are two, or what there is cannot be one.
  public func bearerToken() throws(ConfigurationError) -> BearerToken? {
    guard isEnabled, !token.isEmpty || !tokenFile.isEmpty else { return nil }
    guard token.isEmpty || tokenFile.isEmpty else {
      throw ConfigurationError(
        .conflict,
        "http.tokenFile is \"\(tokenFile)\", and http.token (FEEDSTORE_HTTP_TOKEN) is set as well; remove one of the two",
        key: "http.tokenFile",
        value: tokenFile.debugDescription
      )
    }
    let key = tokenFile.isEmpty ? "http.token" : "http.tokenFile"
    do throws(HTTPServerError) {
      return tokenFile.isEmpty ? try BearerToken(token) : try BearerToken(file: tokenFile)
    } catch {
      throw ConfigurationError(.outOfRange, "\(key): \(error.message)", key: key)
    }
  }
}
