import Workloads

/// The memory that `feedstore replay` needs for one large feed.
enum MemoryCost {
  private static let itemCount = 1_000_000
  private static let eventsPerRecord = 100

  static func run(feedstore: String) {
    var table = MarkdownTable("feed", "peak memory", "bytes per item")
    SampleFile.with(lineCount: itemCount / eventsPerRecord) { line in
      let first = line * eventsPerRecord
      return #"{"key":"feed","value":\#(SampleData.insertions(first..<first + eventsPerRecord))}"#
    } _: { path in
      let result = ChildProcess.run(feedstore, ["replay", path, "--output", "/dev/null"])
      table.add(
        "\(Format.grouped(itemCount)) items with 200 bytes of data each",
        Format.megabytes(result.peakMemory),
        Format.grouped(result.peakMemory / itemCount)
      )
    }
    print("### Memory\n")
    print(table.text)
  }
}
