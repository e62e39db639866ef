import Testing

@testable import FeedWorker

struct CommitMetadataTests {
  private static let author = CommitMetadata.Author(member: "feedstore-1a2b", producer: "feeds-host 1 x-0")

  @Test(arguments: [
    (
      CommitMetadata(changesetsEnd: 12, author: author),
      "changesets=12 member=feedstore-1a2b producer=feeds-host 1 x-0"
    ),
    (CommitMetadata(changesetsEnd: 12, author: nil), "changesets=12"),
    (
      CommitMetadata(changesetsEnd: 12, partitions: 4, author: author),
      "changesets=12 partitions=4 member=feedstore-1a2b producer=feeds-host 1 x-0"
    ),
    (CommitMetadata(changesetsEnd: nil, partitions: 4, author: nil), "partitions=4"),
    (
      CommitMetadata(changesetsEnd: 12, hasEnds: true, contents: [10: 5, 2: 0], author: author),
      "changesets=9223372036854775807 ends=12 contents=2:0,10:5 member=feedstore-1a2b producer=feeds-host 1 x-0"
    ),
    (
      CommitMetadata(changesetsEnd: 12, partitions: 4, forgotten: 41, author: author),
      "changesets=12 partitions=4 forgotten=41 member=feedstore-1a2b producer=feeds-host 1 x-0"
    ),
    (
      CommitMetadata(changesetsEnd: 12, hasEnds: true, partitions: 4, author: nil),
      "changesets=9223372036854775807 ends=12 partitions=4"
    ),
    (
      CommitMetadata(changesetsEnd: 12, hasSettings: true, partitions: 4, forgotten: 41, author: author),
      "changesets=9223372036854775807 end=12 partitions=4 forgotten=41 member=feedstore-1a2b producer=feeds-host 1 x-0"
    ),
    (CommitMetadata(changesetsEnd: 0, hasSettings: true), "changesets=9223372036854775807 end=0"),
    (CommitMetadata(changesetsEnd: nil, author: author), "member=feedstore-1a2b producer=feeds-host 1 x-0"),
    (CommitMetadata(changesetsEnd: nil, author: nil), ""),
  ])
  func `what is written can be read`(metadata: CommitMetadata, text: String) {
    #expect(metadata.text == text)
    #expect(CommitMetadata(text) == metadata)
  }

  @Test(arguments: [
    "7", "changesets=", "changesets=x", "partitions=x", "other=7", "member=", "member=a",
    "member=a producer=",
    "member= producer=b",
    "producer=b",
  ])
  func `what others have committed says nothing`(text: String) {
    #expect(CommitMetadata(text) == CommitMetadata(changesetsEnd: nil, author: nil))
  }

  @Test func `ids that brokers might refuse are left out`() {
    let author = CommitMetadata.Author(member: String(repeating: "m", count: 1_000), producer: "p")
    #expect(CommitMetadata(changesetsEnd: 3, author: author).text == "changesets=3")
  }
}
