/// Makes a story shorter that fails, for as long as it fails in the same way.
struct StoryShrinker {
  /// How a story fails; nil if it does not.
  private let failure: (Story) -> String?
  /// How many stories may be tried.
  var tries = 600
  private var kind = ""

  init(_ failure: @escaping (Story) -> String?) { self.failure = failure }

  /// The shortest that was found.
  ///
  /// - Parameter original: how the story fails.
  mutating func shrink(_ story: Story, _ original: String) -> Story {
    kind = Self.kind(of: original)
    var best = story
    var size = 0
    repeat {
      size = best.arrivals.count + best.incidents.count
      best = shrink(best, \.incidents)
      best = shrink(best, \.arrivals)
      best = simplify(best)
    } while best.arrivals.count + best.incidents.count < size && tries > 0
    return best
  }

  private mutating func fails(_ story: Story) -> Bool {
    guard tries > 0 else { return false }
    tries -= 1
    return failure(story).map(Self.kind) == kind
  }

  /// What a failure has in common with others of its kind: how its text begins, whatever the numbers.
  private static func kind(of failure: String) -> String {
    String(failure.prefix { $0 != ":" && $0 != "," }.filter(\.isLetter))
  }

  /// Leaves out halves, quarters and so on of a list.
  private mutating func shrink<Element>(_ story: Story, _ list: WritableKeyPath<Story, [Element]>) -> Story {
    var best = story
    var length = max(1, best[keyPath: list].count)
    while length >= 1 {
      var start = 0
      while start < best[keyPath: list].count {
        var shorter = best
        let end = min(start + length, best[keyPath: list].count)
        shorter[keyPath: list].removeSubrange(start..<end)
        if fails(shorter) { best = shorter } else { start = end }
      }
      if length == 1 { break }
      length /= 2
    }
    return best
  }

  /// Tries plain settings instead of odd ones.
  private mutating func simplify(_ story: Story) -> Story {
    var best = story
    let plain = Setting()
    func with(_ change: (inout Setting) -> Void) -> Story {
      var other = best
      change(&other.setting)
      return other
    }
    let changes: [(inout Setting) -> Void] = [
      { $0.isStatic = false }, { $0.windowMilliseconds = plain.windowMilliseconds },
      { $0.maxRecords = plain.maxRecords },
      { $0.maxTransactionBytes = plain.maxTransactionBytes }, { $0.keyframeDeltas = plain.keyframeDeltas },
      { $0.queueCapacity = plain.queueCapacity }, { $0.recordMicroseconds = plain.recordMicroseconds },
      { $0.markerMicroseconds = plain.markerMicroseconds }, { $0.standbyBytes = nil },
      { $0.contentsWindowMilliseconds = $0.contentsWindowMilliseconds.map { _ in 0 } },
    ]
    for change in changes {
      let other = with(change)
      if other.setting != best.setting, fails(other) { best = other }
    }
    return best
  }
}
