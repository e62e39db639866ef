import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Follows feeds of one or several instances of FeedStore over HTTP.
///
///     let store = FeedStore(URL(string: "https://feeds.example.org")!)
///     let feed = store.feed("news", .first(10))
///     for await update in feed.updates { show(update.view) }
///
/// All feeds of a store share one connection to an instance. It exists while there is a listener.
public final class FeedStore: Sendable {
  private let core: StoreCore

  /// - Parameters:
  ///   - urls: The instances, at least one.
  ///   - token: Asked for each connection, and again when a token has been refused or is about to end.
  ///   - configuration: For proxies, certificates and so on.
  public init(
    _ urls: [URL],
    token: TokenSource? = nil,
    configuration: URLSessionConfiguration = FeedStore.defaultConfiguration
  ) {
    precondition(!urls.isEmpty, "FeedStore needs the URL of at least one instance")
    core = StoreCore(urls, token: token, configuration: configuration)
  }

  public convenience init(_ url: URL, token: TokenSource? = nil) { self.init([url], token: token) }

  /// Without caches and cookies, and with as many connections as streams need.
  public static var defaultConfiguration: URLSessionConfiguration { HTTPClient.defaultConfiguration }

  /// A feed, or a window of it. It is not connected before there is a listener.
  public func feed(_ id: FeedID, _ window: FeedWindow = .all) -> Feed { core.feed(id, window) }
}

/// Runs the machine: one call at a time, and does what it says.
final class StoreCore: @unchecked Sendable {
  // Everything below is used while it is held. Nothing that runs meanwhile calls back.
  private let lock = NSLock()
  private var machine: StoreMachine
  private var sinks: [HandleID: FeedSink] = [:]
  private var tasks: [Connection: URLSessionDataTask] = [:]
  private var timers: [StoreMachine.Timer: Task<Void, Never>] = [:]
  private var writers: [WriteID: CheckedContinuation<Written, any Error>] = [:]
  private let client: HTTPClient
  private let token: TokenSource?

  init(_ urls: [URL], token: TokenSource?, configuration: URLSessionConfiguration) {
    machine = StoreMachine(servers: urls, hasTokens: token != nil)
    client = HTTPClient(configuration: configuration)
    self.token = token
  }

  deinit {
    for task in tasks.values { client.cancel(task) }
    client.close()
    for timer in timers.values { timer.cancel() }
  }

  @discardableResult
  func run<Result>(_ body: (inout StoreMachine) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    return runLocked(body)
  }

  private func runLocked<Result>(_ body: (inout StoreMachine) -> Result) -> Result {
    let result = body(&machine)
    for effect in machine.takeEffects() { perform(effect) }
    return result
  }

  func feed(_ id: FeedID, _ window: FeedWindow) -> Feed {
    lock.lock()
    defer { lock.unlock() }
    let (handle, view) = runLocked { $0.add(id, window) }
    let sink = FeedSink(view)
    sinks[handle] = sink
    return Feed(id, core: self, handle: handle, sink: sink)
  }

  func remove(_ handle: HandleID) {
    lock.lock()
    defer { lock.unlock() }
    sinks[handle] = nil
    runLocked { $0.remove(handle) }
  }

  func listen(_ handle: HandleID, _ sink: FeedSink, _ mailbox: Mailbox) {
    lock.lock()
    defer { lock.unlock() }
    let isAbsent = runLocked { $0.listen(handle) }
    sink.add(mailbox, isAbsent: isAbsent)
  }

  func unlisten(_ handle: HandleID, _ sink: FeedSink, _ mailbox: Mailbox) {
    lock.lock()
    defer { lock.unlock() }
    if sink.remove(mailbox) { runLocked { $0.unlisten(handle) } }
  }

  func write(_ events: [FeedEvent], _ handle: HandleID, wait: Int) async throws -> Written {
    let texts = events.map(\.text)
    let value = texts.count == 1 ? texts[0] : "[\(texts.joined(separator: ","))]"
    return try await withCheckedThrowingContinuation { continuation in
      lock.lock()
      defer { lock.unlock() }
      let id = machine.write(value, handle, wait: max(0, min(wait, 30)))
      writers[id] = continuation
      runLocked { _ in }
    }
  }

  private func perform(_ effect: StoreMachine.Effect) {
    switch effect {
    case .show(let handle, let update): sinks[handle]?.show(update)
    case .askToken(let connection): askToken(connection)
    case .connect(let connection, let url, let body, let token): connect(connection, url, body, token)
    case .disconnect(let connection):
      if let task = tasks.removeValue(forKey: connection) { client.cancel(task) }
    case .patch(let connection, let url, let body, let token): patch(connection, url, body, token)
    case .setTimer(let timer, let seconds): set(timer, seconds)
    case .cancelTimer(let timer): timers.removeValue(forKey: timer)?.cancel()
    case .post(let id, let url, let body, let wait): post(id, url, body, wait)
    case .finish(let id, let result): writers.removeValue(forKey: id)?.resume(with: result)
    }
  }

  private func set(_ timer: StoreMachine.Timer, _ seconds: Double) {
    timers[timer]?.cancel()
    timers[timer] = Task { [weak self] in
      try? await Task.sleep(nanoseconds: UInt64(min(seconds, 1e9) * 1e9))
      self?.fire(timer)
    }
  }

  private func fire(_ timer: StoreMachine.Timer) {
    lock.lock()
    defer { lock.unlock() }
    // Cancelled, or set again meanwhile.
    guard !Task.isCancelled else { return }
    timers[timer] = nil
    runLocked { $0.fired(timer) }
  }

  private func askToken(_ connection: Connection) {
    let token = token
    Task { [weak self] in
      let answer: Result<String?, any Error>
      do { answer = .success(try await token?()) } catch { answer = .failure(error) }
      self?.run { $0.tokenArrived(connection, answer) }
    }
  }

  private func request(_ method: String, _ url: URL, _ body: String, _ token: String?) -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = method
    request.httpBody = Data(body.utf8)
    request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    #if canImport(FoundationNetworking)
      // On Linux, a request with content stalls until its timeout if the server has closed the connection meanwhile, because the
      // content is not sent a second time (Swift 6.3). So each has a connection of its own.
      request.setValue("close", forHTTPHeaderField: "Connection")
    #endif
    return request
  }

  private func connect(_ connection: Connection, _ url: URL, _ body: String, _ token: String?) {
    var request = request("POST", url, body, token)
    request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
    // Without a byte for so long, the connection is dead: the daemon sends heartbeats.
    request.timeoutInterval = 60
    let reader = StreamReader()
    tasks[connection] = client.send(request) { [weak self] event in
      self?.run { reader.take(event, connection, &$0) }
      if case .end = event { self?.forget(connection) }
    }
  }

  private func forget(_ connection: Connection) {
    lock.lock()
    defer { lock.unlock() }
    tasks[connection] = nil
  }

  private func patch(_ connection: Connection, _ url: URL, _ body: String, _ token: String?) {
    var request = request("PATCH", url, body, token)
    request.timeoutInterval = 30
    let collector = ResponseCollector()
    _ = client.send(request) { [weak self] event in
      guard let answer = collector.take(event) else { return }
      self?.run { $0.patched(connection, answer.isSuccess ? nil : answer.problem) }
    }
  }

  /// Sends a write. A token that is refused is asked for again, and one that is not valid yet sent again: nothing was written then.
  private func post(_ id: WriteID, _ url: URL, _ body: String, _ wait: Int, wasRefused: Bool = false) {
    let token = token
    Task { [weak self] in
      let held: String? = self?.run { $0.tokens.held($0.now()) } ?? nil
      let inUse: String? = self?.run { $0.tokens.inUse($0.now()) } ?? nil
      let given: String?
      do { given = if let held { held } else { try await token?() ?? inUse } } catch  where inUse != nil {
        given = inUse
      } catch {
        let problem = HTTPProblem(status: 401, detail: "there is no token: \(error)")
        self?.run { $0.answered(id, 401, nil, problem) }
        return
      }
      self?.post(id, url, body, wait, wasRefused, token: given)
    }
  }

  private func post(
    _ id: WriteID,
    _ url: URL,
    _ body: String,
    _ wait: Int,
    _ wasRefused: Bool,
    token: String?
  ) {
    var request = request("POST", url, body, token)
    if wait > 0 { request.setValue("wait=\(wait)", forHTTPHeaderField: "Prefer") }
    // The daemon gives the brokers ten seconds before it begins to wait.
    request.timeoutInterval = Double(wait) + 30
    let collector = ResponseCollector()
    _ = client.send(request) { [weak self] event in
      guard let answer = collector.take(event) else { return }
      let isAnswered = self?.run {
        if let token, let problem = answer.problem, answer.status != nil {
          if $0.tokens.answered(token, problem, now: $0.now()), $0.sendLater(id) { return true }
          if problem.status == 401, !wasRefused { return false }
        }
        $0.answered(id, answer.status, answer.object, answer.problem)
        return true
      }
      if isAnswered == false { self?.post(id, url, body, wait, wasRefused: true) }
    }
  }
}

/// Passes a stream on to the machine. Used on the queue of the client only.
private final class StreamReader: @unchecked Sendable {
  private var parser = EventStreamParser()
  private let refusal = ResponseCollector()
  private var isStream = false

  func take(_ event: HTTPClient.Event, _ connection: Connection, _ machine: inout StoreMachine) {
    switch event {
    case .head(let status, let headers):
      isStream = status == 200 && (headers["content-type"] ?? "").lowercased().hasPrefix("text/event-stream")
      if isStream { machine.opened(connection) } else { _ = refusal.take(event) }
    case .data(let data):
      guard isStream else {
        _ = refusal.take(event)
        return
      }
      for event in parser.push([UInt8](data)) {
        if event.name == "stream", let object = JSONObject(try? JSONText(checking: event.data)),
          let id = object["stream"]?.string
        {
          machine.named(connection, id: id, retry: parser.retry)
        } else {
          machine.received(connection, event)
        }
      }
    case .end:
      if !isStream, let answer = refusal.take(event), answer.status != nil, let problem = answer.problem {
        machine.refused(connection, problem)
      } else {
        machine.ended(connection)
      }
    }
  }
}

/// Collects a whole response, of a size that no answer of the daemon has. Used on the queue of the client only.
private final class ResponseCollector: @unchecked Sendable {
  private static let capacity = 1 << 20
  private var status: Int?
  private var headers: [String: String] = [:]
  private var body = Data()

  struct Answer {
    /// Nil if there was no response.
    var status: Int?
    var object: JSONObject?
    var problem: HTTPProblem?
    var isSuccess: Bool { status.map { (200..<300).contains($0) } ?? false }
  }

  /// The answer, after the last event.
  func take(_ event: HTTPClient.Event) -> Answer? {
    switch event {
    case .head(let status, let headers):
      (self.status, self.headers) = (status, headers)
    case .data(let data): if body.count + data.count <= Self.capacity { body.append(data) }
    case .end(let error):
      guard let status, error == nil else {
        return Answer(problem: HTTPProblem(status: 0, detail: error ?? "there was no response"))
      }
      let problem = HTTPProblem(status: status, headers: headers, body: body)
      return Answer(
        status: status,
        object: JSONObject(try? JSONText(checking: Array(body))),
        problem: problem
      )
    }
    return nil
  }
}
