import Workloads

/// How fast files are replayed without writing the output; measured externally, including the start of the process.
enum ReplayCost {
  private static let runs = 5
  private static let sampleLines = 500_000
  private static let sampleFeeds = 20
  private static let itemsPerFeed = 1000

  static func run(feedstore: String, files: [String]) {
    var table = MarkdownTable(
      "file",
      "records",
      "size",
      "time",
      "processor time",
      "records/s",
      "records per processor second",
      "peak memory"
    )
    func measure(_ name: String, _ path: String) {
      let size = SampleFile.size(path)
      let results = (0..<runs).map { _ in
        ChildProcess.run(feedstore, ["replay", path, "--output", "/dev/null"])
      }
      func median(_ key: (ChildProcess) -> UInt64) -> Double { Double(results.map(key).sorted()[runs / 2]) }
      let wall = median(\.wallNanoseconds)
      let processor = median(\.processorNanoseconds)
      table.add(
        name,
        Format.grouped(size.lines),
        Format.megabytes(size.bytes),
        Format.seconds(wall),
        Format.seconds(processor),
        Format.grouped(Int(Double(size.lines) / wall * 1e9)),
        Format.grouped(Int(Double(size.lines) / processor * 1e9)),
        Format.megabytes(results.map(\.peakMemory).max() ?? 0)
      )
    }
    var random = RandomNumbers(seed: 7)
    SampleFile.with(lineCount: sampleLines) { line in
      let feed = random.below(sampleFeeds)
      let item = SampleData.id(random.below(itemsPerFeed))
      return #"{"ts":\#(line / 10),"key":"feed-\#(feed)","value":{"op":"item.upsert","item":"\#(item)","#
        + #""section":"stories","data":\#(SampleData.object(random.next()))}}"#
    } _: {
      measure("content updates, \(sampleFeeds) feeds of \(Format.grouped(itemsPerFeed)) items", $0)
    }
    for file in files { measure(String(file.split(separator: "/").last ?? "-"), file) }
    print("### Replay\n\nMedians of \(runs) runs of `feedstore replay FILE --output /dev/null`.\n")
    print(table.text)
  }
}
