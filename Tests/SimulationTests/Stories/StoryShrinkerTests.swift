import Testing

@Suite struct StoryShrinkerTests {
  @Test func `what a failure does not need is left out`() {
    var story = Story(seed: 7)
    story.incidents.insert(Story.Incident(milliseconds: 1, fault: .groupMoves), at: 3)
    story.incidents.append(Story.Incident(milliseconds: 2, fault: .seeksFail(9)))
    var shrinker = StoryShrinker { story in
      let faults = story.incidents.map(\.fault)
      if faults.contains(.seeksFail(9)), story.arrivals.count > 4 { return "this is it: \(faults.count)" }
      return story.arrivals.isEmpty ? "something else" : nil
    }
    let short = shrinker.shrink(story, "this is it: 100")
    #expect(short.incidents.map(\.fault) == [.seeksFail(9)])
    #expect(short.arrivals.count == 5)
    #expect(short.setting.queueCapacity == Setting().queueCapacity)
  }

  @Test func `a story follows from its seed`() {
    #expect(Story(seed: 8).description == Story(seed: 8).description)
    #expect(Story(seed: 8).description != Story(seed: 9).description)
  }
}
