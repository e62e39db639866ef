import Foundation

/// The tokens of a program.
struct HeldTokens {
  static let earlyFor = 300_000
  static let earlyPause = 1_000
  static let maxEarly = 30
  let hasCallback: Bool
  /// The one to send, and whether it is that of `setToken`.
  var token: String?
  var isGiven = false
  /// Whose the last one was, by its `sub`; empty if it does not say so.
  var person: String?
  /// The last one that was accepted.
  var accepted: String?
  /// One that is not valid yet, and until when it is kept.
  var coming: (token: String, until: Milliseconds)?
  /// The requests and streams that wait for the callback's answer; nil if it was not asked.
  var asking: [Asker]?

  enum Asker {
    /// A stream, and why it needs another token than its former one.
    case stream(Int, attempt: Int, refusal: (former: String?, detail: String)?)
    case exchange(Int)
    /// A request whose token was refused.
    case exchangeAgain(Int, Answer)
    case renewal
  }

  /// The last one that was accepted, if it has not ended.
  func inUse(_ now: Milliseconds) -> String? { valid(accepted, now) }

  func valid(_ token: String?, _ now: Milliseconds) -> String? {
    token.flatMap { BearerToken.end($0).map { $0 > now } ?? true ? $0 : nil }
  }

  func comingToken(_ now: Milliseconds) -> String? { coming.flatMap { now < $0.until ? $0.token : nil } }

  mutating func accept(_ token: String?) {
    accepted = token
    if let coming, coming.token == token { (self.token, self.coming) = (token, nil) }
  }

  /// Returns whether a refused token is not valid yet, so that it is kept.
  mutating func refuse(_ token: String?, _ problem: HTTPProblem?, _ now: Milliseconds) -> Bool {
    if let token, BearerToken.isEarly(token, problem, now: now) {
      if coming?.token != token { coming = (token, now + Self.earlyFor) }
      self.token = inUse(now)
      return true
    }
    if token == accepted { accepted = nil }
    if coming?.token == token { coming = nil }
    if token == self.token, hasCallback { (self.token, isGiven) = (nil, false) }
    return false
  }
}

/// A request with an answer, which is sent again with another token if its own is refused.
struct Exchange {
  enum Purpose {
    case patch(Patch)
    case post(FeedID, WriteID)
    case outcome(FeedID, WriteID)
  }

  /// A change of an open stream, and what to restore if it fails.
  struct Patch {
    let stream: Int
    /// The request of the stream.
    let request: Int?
    var added: [(follow: Int, former: Follow.Wanted?, isChange: Bool)]
    let sent: [StreamState.Entry]
  }

  let purpose: Purpose
  var call: Call
  /// The newest request.
  var request: Int?
  var early = 0
  var wasRefused = false
}

extension StoreMachine {
  /// Passes on the token for a request. For a stream, the callback is asked even if there is one.
  mutating func withToken(_ asker: HeldTokens.Asker) {
    let isStream = if case .stream = asker { true } else { false }
    if let coming = tokens.comingToken(now), isStream || tokens.token == nil {
      go(asker, tokens.inUse(now) ?? coming, nil)
    } else if tokens.valid(tokens.token, now) != nil && (tokens.isGiven || !isStream) || !tokens.hasCallback {
      go(asker, tokens.token, nil)
    } else {
      ask(asker)
    }
  }

  private mutating func ask(_ asker: HeldTokens.Asker) {
    if tokens.asking == nil { add(.askToken) }
    tokens.asking = (tokens.asking ?? []) + [asker]
  }

  /// The callback has answered.
  mutating func tokenArrived(_ answer: Result<String?, any Error>) {
    let waiting = tokens.asking ?? []
    tokens.asking = nil
    for asker in waiting where isWanted(asker) {
      switch answer {
      case .success(let token): use(asker, token, nil)
      case .failure(let error): use(asker, nil, words(for: error))
      }
    }
    change()
  }

  /// Takes a token into use. What one person saw and wrote is not for another one.
  private mutating func become(_ token: String?, isGiven: Bool = false) {
    (tokens.token, tokens.isGiven) = (token, isGiven)
    renewLater()
    let former = tokens.person
    if let token { tokens.person = BearerToken.claims(token)?["sub"]?.string ?? "" }
    guard former != nil, former != tokens.person else { return }
    (tokens.accepted, tokens.coming) = (nil, nil)
    dropWrites("another person uses the program")
    for number in follows.keys.sorted() {
      let showed = follows[number]?.shown.exists ?? false
      follows[number]?.forget()
      refresh(number, showed ? .state : .pending)
    }
    for (number, stream) in streams where stream.phase != .asking {
      close(number)
      streams[number]?.trouble = nil
    }
    change()
  }

  private func isWanted(_ asker: HeldTokens.Asker) -> Bool {
    switch asker {
    case .stream(let number, let attempt, _): streams[number]?.attempt == attempt
    case .exchange(let number), .exchangeAgain(let number, _): isWanted(number)
    case .renewal: true
    }
  }

  func isWanted(_ exchange: Int) -> Bool {
    guard case .patch(let patch) = exchanges[exchange]?.purpose else { return exchanges[exchange] != nil }
    return streams[patch.stream]?.request == patch.request
  }

  /// Without a newer token, the present one stays in use until it ends.
  private mutating func use(_ asker: HeldTokens.Asker, _ token: String?, _ error: String?) {
    if case .renewal = asker { return renewed(token) }
    let present = token == nil ? tokens.valid(tokens.token, now) ?? tokens.inUse(now) : nil
    if let present { tokens.token = present } else if error == nil { become(token) }
    // A write of another person is not.
    if isWanted(asker) { go(asker, tokens.token, present == nil ? error : nil) }
  }

  private mutating func go(_ asker: HeldTokens.Asker, _ token: String?, _ error: String?) {
    switch asker {
    case .stream(let number, _, let refusal):
      // The same one would be refused again.
      let isOther = token != nil && token != refusal?.former
      open(number, token, error ?? (isOther ? nil : refusal?.detail))
    case .exchange(let number): begin(number, token, error)
    case .exchangeAgain(let number, let answer):
      if error != nil || token == exchanges[number]?.call.token {
        finish(number, answer)
      } else {
        begin(number, token, nil)
      }
    case .renewal: break
    }
  }

  // Requests with answers.

  mutating func begin(_ purpose: Exchange.Purpose, _ call: Call) {
    let number = newNumber()
    exchanges[number] = Exchange(purpose: purpose, call: call)
    withToken(.exchange(number))
  }

  private mutating func begin(_ number: Int, _ token: String?, _ error: String?) {
    if let error { return finish(number, Answer(problem: HTTPProblem(noToken: error), wasSent: false)) }
    exchanges[number]?.call.token = token
    guard let call = exchanges[number]?.call else { return }
    let request = send(call, .exchange(number), limit: call.wait * 1000 + Self.answerLimit)
    exchanges[number]?.request = request
  }

  mutating func exchangeAnswered(_ number: Int, _ answer: Answer) {
    guard let exchange = exchanges[number] else { return }
    guard answer.status == 401 else {
      if answer.status != nil { tokens.accept(exchange.call.token) }
      return finish(number, answer)
    }
    if tokens.refuse(exchange.call.token, answer.problem, now) {
      exchanges[number]?.early += 1
      // A stream goes on with the token before.
      let isPatch = if case .patch = exchange.purpose { true } else { false }
      guard !isPatch, exchange.early < HeldTokens.maxEarly else {
        return finish(number, answer, isEarly: true)
      }
      set(.early(exchange: number), tokens.inUse(now) == nil ? HeldTokens.earlyPause : 0)
    } else if exchange.wasRefused || !tokens.hasCallback {
      finish(number, answer)
    } else {
      exchanges[number]?.wasRefused = true
      ask(.exchangeAgain(number, answer))
    }
  }

  private mutating func finish(_ number: Int, _ answer: Answer, isEarly: Bool = false) {
    guard let exchange = exchanges.removeValue(forKey: number) else { return }
    switch exchange.purpose {
    case .patch(let patch): patched(patch, exchange.call.token, answer, isEarly)
    case .post(let feed, let write): posted(feed, write, answer, exchange.call.url)
    case .outcome(let feed, let write): learned(feed, write, answer)
    }
  }

  // Newer tokens.

  mutating func renewLater() {
    guard tokens.hasCallback, let token = tokens.token, let seconds = BearerToken.renewal(of: token, now: now)
    else { return }
    set(.renewal, seconds)
  }

  mutating func renewToken() {
    guard streams.values.contains(where: { $0.phase == .open }) else { return }
    if let coming = tokens.comingToken(now) { tokens.token = coming } else { ask(.renewal) }
  }

  private mutating func renewed(_ token: String?) {
    guard let token, token != tokens.token else { return }
    become(token)
  }

  /// Uses a token from now on; nil to forget the one that there is.
  mutating func setToken(_ token: String?) {
    tokens.coming = nil
    guard token != nil else {
      (tokens.token, tokens.accepted) = (nil, nil)
      return
    }
    become(token, isGiven: true)
    let waiting = tokens.asking ?? []
    tokens.asking = nil
    for asker in waiting where isWanted(asker) { use(asker, token, nil) }
    tokens.isGiven = true
    for number in streams.keys.sorted() where streams[number]?.phase == .waiting { connect(number) }
    change()
  }
}

/// An error in words: what an error of Foundation prints by itself is a dump.
func words(for error: any Error) -> String {
  if let text = (error as? any LocalizedError)?.errorDescription { return text }
  return type(of: error) is NSError.Type || error is URLError || error is CocoaError
    ? error.localizedDescription : "\(error)"
}
