/// How fast files are replayed, output thrown away; seen from outside, start of the process included.
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
      "time, median",
      "records/s",
      "MB/s",
      "processor time",
      "peak memory"
    )
    func measure(_ name: String, _ path: String) {
      let size = SampleFile.size(path)
      let results = (0..<runs).map { _ in
        ChildProcess.run(feedstore, ["replay", path, "--output", "/dev/null"])
      }
      let result = results.sorted { $0.wallNanoseconds < $1.wallNanoseconds }[runs / 2]
      let seconds = Double(result.wallNanoseconds) / 1e9
      table.add(
        name,
        Format.grouped(size.lines),
        Format.megabytes(size.bytes),
        Format.seconds(Double(result.wallNanoseconds)),
        Format.grouped(Int(Double(size.lines) / seconds)),
        Format.decimal(Double(size.bytes) / 1e6 / seconds),
        Format.seconds(Double(result.processorNanoseconds)),
        Format.megabytes(result.peakMemory)
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
