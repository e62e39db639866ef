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
/// All feeds and windows of a store share one connection to an instance. It exists while there is a listener.
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

  /// Uses a token from now on, also on open streams. Streams that wait are tried at once. Nil forgets the token that there is.
  public func setToken(_ token: String?) { core.run { $0.setToken(token) } }

  /// Tries streams that wait at once, and opens a stream again that received nothing for 20 s. On Apple systems this happens by
  /// itself when the network or the app comes back.
  public func reconnect() { core.run { $0.reconnect() } }

  /// Ends everything: the connections, updates and standings. Writes without an outcome fail.
  public func close() { core.close() }

  /// One standing for an app: the worst of all feeds that are followed; `live` if there are none.
  public var standing: Standing { core.run { $0.worstStanding } }

  /// The standing, and each one that it changes to.
  public var standings: AsyncStream<Standing> { core.standings() }
}

/// Runs the machine: one call at a time, and does what it says.
final class StoreCore: @unchecked Sendable {
  // Everything below is used while it is held. Nothing that runs meanwhile calls back.
  private let lock = NSLock()
  private var machine: StoreMachine
  private var sinks: [HandleID: FeedSink] = [:]
  private var tasks: [Int: URLSessionDataTask] = [:]
  private var timers: [StoreMachine.Timer: Task<Void, Never>] = [:]
  private var writers: [WriteID: CheckedContinuation<Written?, any Error>] = [:]
  private var standingReaders: [Int: AsyncStream<Standing>.Continuation] = [:]
  private let client: HTTPClient
  private let token: TokenSource?
  #if canImport(Network)
    private var wakeups: Wakeups?
  #endif

  init(_ urls: [URL], token: TokenSource?, configuration: URLSessionConfiguration) {
    machine = StoreMachine(servers: urls, hasTokens: token != nil)
    client = HTTPClient(configuration: configuration)
    self.token = token
    #if canImport(Network)
      wakeups = Wakeups { [weak self] in self?.run { $0.reconnect() } }
    #endif
  }

  deinit {
    close()
    client.close()
  }

  func close() {
    run { $0.close() }
    let readers = lock.withLock {
      for timer in timers.values { timer.cancel() }
      for sink in sinks.values { sink.close() }
      timers = [:]
      return Array(standingReaders.values)
    }
    // Each calls `forget`.
    for reader in readers { reader.finish() }
  }

  @discardableResult
  func run<Result>(_ body: (inout StoreMachine) -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    let result = body(&machine)
    for effect in machine.takeEffects() { perform(effect) }
    return result
  }

  func feed(_ id: FeedID, _ window: FeedWindow) -> Feed {
    run { machine in
      let (handle, view) = machine.add(id, window)
      let sink = FeedSink(view)
      sinks[handle] = sink
      return Feed(id, core: self, handle: handle, sink: sink)
    }
  }

  func remove(_ handle: HandleID) {
    run {
      sinks[handle] = nil
      $0.remove(handle)
    }
  }

  func listen(_ handle: HandleID, _ sink: FeedSink, _ mailbox: Mailbox) {
    run {
      sink.add(mailbox, isAbsent: $0.listen(handle))
      if $0.isClosed { mailbox.close() }
    }
  }

  func unlisten(_ handle: HandleID, _ sink: FeedSink, _ mailbox: Mailbox) {
    run { if sink.remove(mailbox) { $0.unlisten(handle) } }
  }

  func standings() -> AsyncStream<Standing> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      run { machine in
        let number = machine.newNumber()
        standingReaders[number] = continuation
        continuation.yield(machine.worstStanding)
        continuation.onTermination = { [weak self] _ in self?.forget(number) }
      }
    }
  }

  private func forget(_ reader: Int) { run { _ in standingReaders[reader] = nil } }

  /// Writes the events that `make` returns; nil if there are none.
  func write(
    _ feed: FeedID,
    wait: Int,
    key: String? = nil,
    _ make: (StoreMachine) throws -> [FeedEvent]
  ) async throws -> Written? {
    try await withCheckedThrowingContinuation { continuation in
      run { machine in
        do {
          let texts = try make(machine).map(\.text)
          guard !texts.isEmpty else { return continuation.resume(returning: nil) }
          let value = texts.count == 1 ? texts[0] : "[\(texts.joined(separator: ","))]"
          writers[machine.write(value, feed, wait: max(0, min(wait, 30)), key: key)] = continuation
        } catch { continuation.resume(throwing: error) }
      }
    }
  }

  private func perform(_ effect: StoreMachine.Effect) {
    switch effect {
    case .show(let handle, let update): sinks[handle]?.show(update)
    case .standing(let standing): for reader in standingReaders.values { reader.yield(standing) }
    case .askToken: askToken()
    case .send(let number, let call): send(number, call)
    case .abort(let number): if let task = tasks.removeValue(forKey: number) { client.cancel(task) }
    case .setTimer(let timer, let milliseconds): set(timer, milliseconds)
    case .cancelTimer(let timer): timers.removeValue(forKey: timer)?.cancel()
    case .finish(let id, let result): writers.removeValue(forKey: id)?.resume(with: result.map { $0 })
    }
  }

  private func set(_ timer: StoreMachine.Timer, _ milliseconds: Milliseconds) {
    timers[timer]?.cancel()
    timers[timer] = Task { [weak self] in
      try? await Task.sleep(nanoseconds: UInt64(max(0, min(milliseconds, 1 << 40))) * 1_000_000)
      self?.fire(timer)
    }
  }

  private func fire(_ timer: StoreMachine.Timer) {
    run {
      // Cancelled, or set again meanwhile.
      guard !Task.isCancelled else { return }
      timers[timer] = nil
      $0.fired(timer)
    }
  }

  private func askToken() {
    let token = token
    Task { [weak self] in
      let answer: Result<String?, any Error>
      do { answer = .success(try await token?()) } catch { answer = .failure(error) }
      self?.run { $0.tokenArrived(answer) }
    }
  }

  private func send(_ number: Int, _ call: Call) {
    var request = URLRequest(url: call.url)
    request.httpMethod = call.method
    if let body = call.body {
      request.httpBody = Data(body.utf8)
      request.setValue("application/json", forHTTPHeaderField: "Content-Type")
    }
    if let token = call.token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
    if call.wait > 0 { request.setValue("wait=\(call.wait)", forHTTPHeaderField: "Prefer") }
    if call.isStream { request.setValue("text/event-stream", forHTTPHeaderField: "Accept") }
    // The machine ends requests earlier.
    request.timeoutInterval = 120
    #if canImport(FoundationNetworking)
      // On Linux, a request with content stalls until its timeout if the server has closed the connection meanwhile, because the
      // content is not sent a second time (Swift 6.3). So each has a connection of its own.
      request.setValue("close", forHTTPHeaderField: "Connection")
    #endif
    let reader = ResponseReader(number, isStream: call.isStream)
    tasks[number] = client.send(request) { [weak self] event in
      self?.run { reader.take(event, &$0) }
      if case .end = event { self?.run { _ in self?.tasks[number] = nil } }
    }
  }
}

/// Passes a response on to the machine: the events of a stream, or all of it at its end. Used on the queue of the client only.
private final class ResponseReader: @unchecked Sendable {
  /// No answer of the daemon is so large.
  private static let capacity = 1 << 20
  private let request: Int
  private let canStream: Bool
  private var isStream = false
  private var parser = EventStreamParser()
  private var status = 0
  private var headers: [String: String] = [:]
  private var body = Data()

  init(_ request: Int, isStream: Bool) { (self.request, canStream) = (request, isStream) }

  func take(_ event: HTTPClient.Event, _ machine: inout StoreMachine) {
    switch event {
    case .head(let status, let headers):
      (self.status, self.headers) = (status, headers)
      isStream =
        canStream && status == 200
        && (headers["content-type"] ?? "").lowercased().hasPrefix("text/event-stream")
      if isStream {
        machine.answered(
          request,
          Answer(status: status, problem: HTTPProblem(status: status), isStream: true)
        )
      }
    case .data(let data):
      guard isStream else {
        if body.count + data.count <= Self.capacity { body.append(data) }
        return
      }
      machine.heard(request)
      for event in parser.push([UInt8](data)) { machine.received(request, event, retry: parser.retry) }
    case .end(let error):
      if status == 0 || isStream || error != nil {
        let problem = HTTPProblem(
          status: 0,
          detail: error?.message ?? (isStream ? "the stream has ended" : "there was no response")
        )
        machine.answered(request, Answer(problem: problem, wasSent: error?.wasSent ?? true))
      } else {
        let problem = HTTPProblem(status: status, headers: headers, body: body)
        let object = JSONObject(try? JSONText(checking: Array(body)))
        machine.answered(request, Answer(status: status, object: object, problem: problem))
      }
    }
  }
}

#if canImport(Network)
  import Network

  /// Calls a closure when the network or the app comes back.
  final class Wakeups: @unchecked Sendable {
    private let monitor = NWPathMonitor()
    private var observers: [any NSObjectProtocol] = []
    // Used on the monitor's queue only.
    private var isSatisfied = true

    init(_ wake: @escaping @Sendable () -> Void) {
      monitor.pathUpdateHandler = { [weak self] path in
        guard let self else { return }
        let wasSatisfied = isSatisfied
        isSatisfied = path.status == .satisfied
        if isSatisfied, !wasSatisfied { wake() }
      }
      monitor.start(queue: DispatchQueue(label: "feedstore.network"))
      // By name, so that an extension needs neither UIKit nor AppKit.
      for name in [
        "UIApplicationWillEnterForegroundNotification", "NSApplicationDidBecomeActiveNotification",
      ] {
        let center = NotificationCenter.default
        observers.append(
          center.addObserver(forName: Notification.Name(name), object: nil, queue: nil) { _ in wake() }
        )
      }
    }

    deinit {
      monitor.cancel()
      for observer in observers { NotificationCenter.default.removeObserver(observer) }
    }
  }
#endif
