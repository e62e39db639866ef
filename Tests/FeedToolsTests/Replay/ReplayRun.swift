import FeedStore
import FeedTestSupport

@testable import FeedTools

/// A replay of one input, in a folder of its own.
struct ReplayRun {
  let output: String
  let rejected: String
  let report: ReplayReport

  init(
    _ input: some Sequence<UInt8>,
    _ options: FeedStoreOptions = FeedStoreOptions(),
    chunkBytes: Int = 1 << 20
  ) async throws {
    let folder = try TemporaryFolder()
    let (output, rejected) = (folder.path("out"), folder.path("rejected"))
    var replay = Replay([try folder.file("in", input)], to: output, rejected: rejected, options)
    replay.chunkBytes = chunkBytes
    report = try await replay.run()
    self.output = try folder.read("out")
    self.rejected = try folder.read("rejected")
  }
}

extension Replay {
  init(
    _ inputs: [String],
    to output: String = "/dev/null",
    rejected: String? = nil,
    _ options: FeedStoreOptions = FeedStoreOptions()
  ) {
    self.init(inputs: inputs, output: output, rejected: rejected, options: options)
  }
}
