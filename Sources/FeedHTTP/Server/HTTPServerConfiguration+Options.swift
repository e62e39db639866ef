package import FeedConfiguration
package import Service

extension HTTPServerConfiguration {
  package init(_ options: HTTPOptions, token: BearerToken?, tls: TLSCredentials?) {
    self.init()
    self.token = token
    self.tls = tls
    address = options.address
    port = options.port
    threads = options.threads
    maxConnections = options.maxConnections
    maxConnectionsPerAddress =
      options.maxConnectionsPerAddress > 0
      ? options.maxConnectionsPerAddress : max(1, options.maxConnections / 4 * 3)
    // No route accepts a request body.
    maxBodyBytes = 0
    maxStreams = options.maxStreams
    maxStreamQueueBytes = options.maxStreamBytes
    heartbeatMilliseconds = options.heartbeatMilliseconds
    idleTimeoutSeconds = options.idleTimeoutSeconds
  }
}
