import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Requests whose responses are passed on piece by piece, as streams need it: on Linux, `URLSession` has no `bytes(for:)`.
final class HTTPClient: NSObject, URLSessionDataDelegate, @unchecked Sendable {
  enum Event: Sendable {
    case head(status: Int, headers: [String: String])
    case data(Data)
    /// The last event: the response is complete, or there was an error.
    case end(Failure?)
  }

  struct Failure: Sendable {
    let message: String
    /// Whether the server may have received the request.
    let wasSent: Bool

    init(_ error: any Error) {
      message = error.localizedDescription
      let before: [URLError.Code] = [
        .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed, .notConnectedToInternet, .unsupportedURL,
        .badURL,
        .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
      ]
      wasSent = (error as? URLError).map { !before.contains($0.code) } ?? true
    }
  }

  typealias Receiver = @Sendable (Event) -> Void

  private let lock = NSLock()
  private var receivers: [Int: Receiver] = [:]
  /// The tasks whose head was passed on.
  private var withHead: Set<Int> = []
  private var session: URLSession?
  private let queue = OperationQueue()

  init(configuration: URLSessionConfiguration) {
    super.init()
    queue.maxConcurrentOperationCount = 1
    let configuration = (configuration.copy() as? URLSessionConfiguration) ?? configuration
    // There is nothing to keep, and on Linux a task that is cancelled while it is looked up in a cache ends the process (Swift 6.3).
    configuration.urlCache = nil
    session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
  }

  static var defaultConfiguration: URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // Streams occupy connections.
    configuration.httpMaximumConnectionsPerHost = 32
    return configuration
  }

  /// Sends a request. The receiver is called on one queue, one event after another.
  func send(_ request: URLRequest, _ receiver: @escaping Receiver) -> URLSessionDataTask? {
    lock.lock()
    defer { lock.unlock() }
    guard let task = session?.dataTask(with: request) else { return nil }
    receivers[task.taskIdentifier] = receiver
    task.resume()
    return task
  }

  /// Ends a request; nothing more comes of it.
  func cancel(_ task: URLSessionDataTask) {
    lock.withLock { receivers[task.taskIdentifier] = nil }
    // Not while its end is being passed on: on Linux that ends the process, too.
    queue.addOperation { task.cancel() }
  }

  /// Ends all requests. The session keeps its delegate until then.
  func close() {
    lock.lock()
    let ended = session
    session = nil
    receivers = [:]
    lock.unlock()
    ended?.finishTasksAndInvalidate()
  }

  private func receiver(_ task: URLSessionTask, isLast: Bool = false) -> Receiver? {
    lock.lock()
    defer { lock.unlock() }
    if isLast { withHead.remove(task.taskIdentifier) }
    return isLast ? receivers.removeValue(forKey: task.taskIdentifier) : receivers[task.taskIdentifier]
  }

  // A redirect would take the token to another server.
  func urlSession(
    _ session: URLSession,
    task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest,
    completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) { completionHandler(nil) }

  // The head is read from the task with what comes after it, so that no answer is needed before the rest.

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    passHead(dataTask)
    receiver(dataTask)?(.data(data))
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    if error == nil { passHead(task) }
    receiver(task, isLast: true)?(.end(error.map(Failure.init)))
  }

  private func passHead(_ task: URLSessionTask) {
    guard lock.withLock({ withHead.insert(task.taskIdentifier).inserted }) else { return }
    let response = task.response as? HTTPURLResponse
    var headers: [String: String] = [:]
    for (name, value) in response?.allHeaderFields ?? [:] { headers["\(name)".lowercased()] = "\(value)" }
    receiver(task)?(.head(status: response?.statusCode ?? 0, headers: headers))
  }
}

/// What a response says that is not the one that was asked for.
struct HTTPProblem: Sendable {
  var status: Int
  var code = ""
  /// An explanation for people.
  var detail: String
  /// Which part of the content is not valid, such as `feeds[2].first`.
  var member: String?
  /// How long to wait before the next request.
  var retryAfter = 0

  init(status: Int, detail: String = "") { (self.status, self.detail) = (status, detail) }
  init(noToken error: String) { self.init(status: 0, detail: "there is no token: \(error)") }

  init(status: Int, headers: [String: String], body: Data) {
    self.status = status
    let body = (try? JSONText(checking: Array(body))).flatMap { JSONObject($0) }
    code = body?["code"]?.string ?? "\(status)"
    detail = body?["detail"]?.string ?? "the server answers \(status)"
    member = body?["member"]?.string
    let seconds = headers["retry-after"] ?? ""
    let isNumber = !seconds.isEmpty && seconds.utf8.allSatisfy { (0x30...0x39).contains($0) }
    retryAfter = isNumber ? min(Int(seconds) ?? 300, 300) * 1000 : 0
  }
}
