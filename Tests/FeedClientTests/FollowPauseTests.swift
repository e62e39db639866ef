import Testing

@testable import FeedClient

struct FollowPauseTests {
  @Test func `pauses double up to a minute, and start over after feeds were followed longer than that`() {
    var pause = FollowPause()
    let pauses = (0..<9).map { pause.seconds(afterFollowing: $0 == 8 ? 60_000 : 0) }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    #expect(pause.seconds(afterFollowing: 60_001) == 1)
    #expect(pause.seconds(afterFollowing: 0) == 2)
  }
}
