import Feed
import FeedStore
import FeedTestSupport
import Foundation
import Oracle
import Synchronization
import Testing

@testable import Diagnostics
@testable import FeedTools
@testable import HTTP
@testable import Settings

@Suite struct ReplayTests {
  private func randomInput(seed: UInt64, _ count: Int) -> String {
    let options = seed.isMultiple(of: 2) ? .orderedSections : GeneratorOptions()
    var generator = RecordGenerator(seed: seed, options: options)
    let lines = generator.records(count).compactMap(\.replayLine).map { String(decoding: $0, as: UTF8.self) }
    return lines.joined(separator: "\n") + "\n"
  }

  @Test func `the output does not depend on the size of reads`() async throws {
    let input = randomInput(seed: 3, 400)
    let whole = try await ReplayRun(input.utf8)
    #expect(!whole.output.isEmpty && !whole.rejected.isEmpty)
    for chunkBytes in [1, 7, 64, 1000, 65536] {
      let chunked = try await ReplayRun(input.utf8, chunkBytes: chunkBytes)
      #expect(chunked.output == whole.output, "read by \(chunkBytes) bytes")
      #expect(chunked.rejected == whole.rejected, "read by \(chunkBytes) bytes")
    }
  }

  @Test func `several files are one input`() async throws {
    let folder = try TemporaryFolder()
    let lines = randomInput(seed: 4, 200).split(separator: "\n")
    // The first file lacks a line feed at its end.
    let first = try folder.file("a", lines[..<90].joined(separator: "\n").utf8)
    let second = try folder.file("b", lines[90...].joined(separator: "\n").utf8)
    let options = FeedStoreOptions()
    _ = try await Replay([first, second], to: folder.path("out"), options).run()
    let whole = try await ReplayRun(lines.joined(separator: "\n").utf8)
    #expect(try folder.read("out") == whole.output)
  }

  @Test(arguments: [
    ("[]", "is not a JSON object"), ("{", "is not a JSON object"), ("x", "is not a JSON object"),
    (#"{"key":"a"}"#, "neither 'value' nor 'payload'"),
    (#"{"key":"a","value":null,"payload":null}"#, "both 'value' and 'payload'"),
    (#"{"key":1,"value":null}"#, "'key'"), (#"{"key":"a","value":null,"ts":1.5}"#, "'ts'"),
    (#"{"key":"a","value":null,"ts":9223372036854775808}"#, "'ts'"),
    (#"{"key":"a","value":null,"offset":-1}"#, "'offset'"),
    (#"{"key":"a","value":null,"partition":"0"}"#, "'partition'"),
    (#"{"key":"a","value":null,"topic":null}"#, "'topic'"), (#"{"key":"a","payload":{}}"#, "'payload'"),
    (#"{"key":"a","value":null,"headers":{}}"#, "'headers'"),
    (#"{"key":"a","value":null,"offset":9223372036854775807}"#, "'offset'"),
    (#"{"key":"a","value":null,"topic":"a/b"}"#, "1 to 249 of the characters"),
    (#"{"key":"a","value":null,"topic":".."}"#, "'topic'"),
    (#"{"key":"a","keyBase64":"YQ==","value":null}"#, "both 'key' and 'keyBase64'"),
    (#"{"key":"a","value":null,"payloadBase64":"YQ=="}"#, "both 'value' and 'payloadBase64'"),
    (#"{"key":"a","payload":"a","payloadBase64":"YQ=="}"#, "both 'payload' and 'payloadBase64'"),
    (#"{"key":"a","payloadBase64":null}"#, "'payloadBase64' that is not a string in Base64"),
    (#"{"key":"a","payloadBase64":"YQ="}"#, "'payloadBase64'"),
    (#"{"keyBase64":"YQ","payload":null}"#, "'keyBase64' that is not a string in Base64"),
    (#"{"key":5,"value":null}"#, "'key' that is not a string or null: the number 5"),
    (#"{"key":"a","ts":"5","value":null}"#, #": "5""#),
    (#"{"key":["a"],"value":null}"#, #": the array ["a"]"#),
    (#"{"key":"a","topic":{},"value":null}"#, ": the object {}"), (#"{"key":true,"value":null}"#, ": true"),
    (#"{"key":"a","keyBase64":null,"value":null}"#, "both 'key' and 'keyBase64'"),
    ("{\"key\":\"a\tb\",\"value\":null}", "a control character at byte 9, in a string"),
    (#"{"key":"\"a","value":"b}"#, "a string that begins at byte 21 does not end"),
  ])
  func `an invalid line stops the replay, with file and line`(
    line: String,
    problem: String
  ) async throws {
    let folder = try TemporaryFolder()
    let good = #"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"#
    let later = #"{"key":"f","ts":1000,"value":{"op":"section.upsert","section":"t"}}"#
    let input = try folder.file("in.ndjson", "\(good)\n\n\(later)\n\(line)\n".utf8)
    let replay = Replay([input], to: folder.path("out"))
    let error = await #expect(throws: ReplayError.self) { try await replay.run() }
    #expect(error?.message.contains("in.ndjson:4:") == true, "\(String(describing: error))")
    #expect(error?.message.contains(problem) == true, "\(String(describing: error))")
    // The previous window was published, the waiting records were not.
    #expect(try folder.read("out").split(separator: "\n").count == 1)
  }

  @Test(arguments: ["-", "rejected"])
  func `what was rejected before a line that cannot be read is written`(rejected: String) async throws {
    let folder = try TemporaryFolder()
    let lines = (1...3).map { #"{"key":"f","ts":\#($0),"value":{"op":"no"}}"# } + ["x"]
    _ = try folder.file("in.ndjson", lines.joined(separator: "\n").utf8)
    let run = try CommandRun(["replay", "in.ndjson", "--rejected", rejected], in: folder.url)
    #expect(run.exitCode == 1 && run.error.hasPrefix("feedstore: in.ndjson:4: the line is not a JSON object"))
    let written = rejected == "-" ? run.output : try folder.read(rejected)
    #expect(written.split(separator: "\n").count == 3)
  }

  @Test(arguments: [
    (["in.ndjson", "missing"], "cannot read missing: No such file or directory"),
    (["in.ndjson", "."], "cannot read .: Is a directory"),
    (
      ["in.ndjson", "--rejected", "no/such/folder"], "cannot write no/such/folder: No such file or directory"
    ),
    (["in.ndjson", "--rejected", "."], "cannot write .: Is a directory"),
    (
      ["in.ndjson", "wrong"],
      "wrong:1: the line is not a JSON object: expected a value; out is left unchanged"
    ),
  ])
  func `a file is only replaced by a complete output`(arguments: [String], problem: String) async throws {
    let folder = try TemporaryFolder()
    let line = #"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"# + "\n"
    _ = try folder.file("in.ndjson", line.utf8)
    _ = try folder.file("wrong", "x".utf8)
    _ = try folder.file("out", "yesterday's".utf8)
    let run = try CommandRun(["replay"] + arguments + ["--output", "out"], in: folder.url)
    #expect(run.exitCode == 1)
    #expect(
      run.error.hasPrefix("feedstore: \(problem.prefix(40))")
        && run.error.hasSuffix("\(problem.suffix(20))\n")
    )
    #expect(try folder.read("out") == "yesterday's")
    let files = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    #expect(files == ["in.ndjson", "out", "wrong"])
  }

  @Test func `a file is replaced where its link leads, with its permissions`() async throws {
    let folder = try TemporaryFolder()
    let path = try folder.file("real", "yesterday's".utf8)
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
    try FileManager.default.createSymbolicLink(atPath: folder.path("out"), withDestinationPath: "real")
    try FileManager.default.createSymbolicLink(atPath: folder.path("later"), withDestinationPath: "new")
    for output in ["out", "later"] {
      try DemoHistory.write(to: folder.path(output))
      #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.path(output)).isEmpty == false)
    }
    let written = DemoHistory.lines.joined(separator: "\n") + "\n"
    #expect(try folder.read("real") == written && folder.read("new") == written)
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o640)
  }

  @Test func `the temporary file of an output is not an input`() async throws {
    let folder = try TemporaryFolder()
    let replay = Replay([try folder.file("out.tmp", "".utf8)], to: folder.path("out"))
    let error = await #expect(throws: UsageError.self) { try await replay.run() }
    #expect(
      error?.description.hasPrefix("--output is first written to \(folder.path("out.tmp")), which is also ")
        == true
    )
  }

  @Test func `new files that are one file get both`() async throws {
    let folder = try TemporaryFolder()
    let lines = [#"{"key":"f","value":{"op":"section.upsert","section":"s"}}"#, #"{"key":"f","value":1}"#]
    _ = try await Replay(
      [try folder.file("in", lines.joined(separator: "\n").utf8)],
      to: folder.path("out"),
      rejected: "\(folder.url.path)/./out"
    ).run()
    #expect(try folder.read("out").split(separator: "\n").count == 2)
  }

  @Test(arguments: [
    (#"{"op":"item.delete","item":17}"#, "field 'item' must be a string, found the number 17"),
    (#"{"op":"item.delete","item":"\#(String(repeating: "é", count: 128))"}"#, "found \"é"),
    (#"{"op":"item.delete","item":null}"#, "must be a string, found null"),
    (#"{"op":"item.delete","item":{"id":1}}"#, #"must be a string, found the object {"id":1}"#),
    (#"{"op":7}"#, "field 'op' must be a string, found the number 7"),
    (
      #"{"op":"section.replace","section":"s","items":[{"id":17}]}"#,
      "'items.id' must be a string, found the number 17"
    ),
    (#"{"op":"section.replace","section":"s","items":[17]}"#, "found the number 17"),
    (#"{"op":"section.replace","section":"s","items":"a"}"#, #"must be an array, found "a""#),
    (
      #"{"op":"section.replace","section":"s","items":[{"kind":"k"}]}"#,
      "'items.id' is missing; every listed element"
    ),
    (#"{"op":"item.delete"}"#, "field 'item' is missing; this operation requires it"),
    (#"{"item":"a"}"#, "field 'op' is missing; every event requires it"),
    (#"{"op":"item.move","item":"a","at":-1}"#, "found the number -1"),
    (#"{"op":"item.move","item":"a","at":[1]}"#, "found the array [1]"),
    ("[true]", "event 0 is not an object, found true"),
    ("[[]]", "event 0 is not an object, found the array []"),
    (#""text""#, #"found "text""#), ("1e400", "found the number 1e400"),
    (#"{"op":"item.insert"}"#, #"found "item.insert"; did you mean "item.upsert"?"#),
    (#"{"op":"Item.Upsert"}"#, #"did you mean "item.upsert"?"#),
    (#"{"op":"item.upsert "}"#, #"did you mean "item.upsert"?"#),
    (#"{"op":"sections.replace"}"#, #"did you mean "section.replace"?"#),
    (#"{"op":"add"}"#, "the operations are feed.replace, feed.clear, "),
    (
      "{\"op\":\"item.delete\",\n\"item\":\"a\u{1}\"}",
      "a control character at byte 30, in a string, is not escaped"
    ),
    (#"{"op":"item.delete","item":"a"#, "a string that begins at byte 27 does not end"),
    ("\u{FEFF}{}", "it begins with a byte order mark"),
    (#"{"item":"\ud800"}"#, "an unpaired surrogate escape in a string at byte 8"),
  ])
  func `a rejected record's message says what is wrong, and what was found`(
    value: String,
    problem: String
  ) async throws {
    let quoted = ByteWriter(capacity: 64)
    Array(value.utf8).withUnsafeBytes { quoted.append(quoted: ByteSpan($0)) }
    var lines = [#"{"key":"f","payload":\#(quoted.written.text)}"#]
    // As the value of a line, the same text is read another way.
    let isJSON = Array(value.utf8).withUnsafeBytes { (try? JSONIndexer().validated(ByteSpan($0))) != nil }
    if isJSON { lines.append(#"{"key":"f","value":\#(value)}"#) }
    for line in lines {
      let rejected = try await ReplayRun(line.utf8).rejected
      let message = try JSONSerialization.jsonObject(with: Data(rejected.utf8)) as? [String: Any]
      let headers = message?["headers"] as? [String] ?? []
      #expect(headers.count > 3 && headers[3].contains(problem), "\(line): \(headers)")
    }
  }

  @Test func `bytes that are not UTF-8 are located`() async throws {
    let line = Array(#"{"key":"f","payload":"é"#.utf8) + [0xC3, 0x28] + Array("\"}\n".utf8)
    #expect(try await ReplayRun(line).rejected.contains("the value is not UTF-8 at byte 2\""))
  }

  @Test func `gzip, and a byte order mark, are read like the text itself`() async throws {
    let input = randomInput(seed: 8, 300)
    let whole = try await ReplayRun(input.utf8)
    func compressed(_ text: some Sequence<UInt8>) throws -> [UInt8] {
      try Array(text).withUnsafeBytes { try #require(Gzip.compress($0, upTo: .max)) }
    }
    let (half, mark) = (input.utf8.count / 2, Array("\u{FEFF}".utf8))
    let members =
      try compressed(mark + Array(input.utf8.prefix(half))) + compressed(input.utf8.dropFirst(half))
    for bytes in [mark + Array(input.utf8), try compressed(input.utf8), members] {
      for chunkBytes in [1, 7, 1000, 1 << 20] {
        let read = try await ReplayRun(bytes, chunkBytes: chunkBytes)
        #expect(read.output == whole.output && read.rejected == whole.rejected, "read by \(chunkBytes) bytes")
        #expect(read.report.bytesRead == bytes.count)
      }
    }
    for bytes in [Array(members.dropLast()), Array(members.prefix(12)), members + [1, 2, 3]] {
      let error = await #expect(throws: ReplayError.self) { try await ReplayRun(bytes) }
      let isDamaged = error?.message.contains("in: the gzip data is damaged: incorrect header") == true
      let isIncomplete = error?.message.contains("in: the gzip data ends too early") == true
      #expect(bytes.count > members.count ? isDamaged : isIncomplete, "\(String(describing: error))")
    }
    var damaged = members
    damaged[damaged.count - 6] ^= 1
    let error = await #expect(throws: ReplayError.self) { try await ReplayRun(damaged) }
    #expect(error?.message.contains("incorrect data check") == true, "\(String(describing: error))")
  }

  @Test(arguments: [
    ([0xFF, 0xFE, 0x7B, 0], "UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ([0x7B, 0, 0x22, 0], "UTF-16", "UTF-16LE"),
    ([0, 0x7B, 0, 0x22], "UTF-16", "UTF-16BE"), ([0xFE, 0xFF], "UTF-16", "iconv"),
    ([0xFF, 0xFE, 0, 0], "UTF-32", "iconv"),
    ([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0, 1], "compressed with xz", "xzcat"),
    ([0x28, 0xB5, 0x2F, 0xFD, 1], "compressed with zstd", "zstdcat"),
    ([0x42, 0x5A, 0x68, 0x39, 1], "compressed with bzip2", "bzcat"),
  ])
  func `a format that is not read is named, with a remedy`(
    bytes: [UInt8],
    format: String,
    remedy: String
  ) async throws {
    let error = await #expect(throws: ReplayError.self) { try await ReplayRun(bytes) }
    let message = try #require(error).message
    #expect(message.hasPrefix("cannot read /") && message.contains("in: it is \(format); "), "\(message)")
    #expect(message.contains(remedy) && message.hasSuffix("in | feedstore replay -"), "\(message)")
  }

  @Test func `a missing file is named`() async throws {
    let replay = Replay(["/no/such/file"])
    let error = await #expect(throws: ReplayError.self) { try await replay.run() }
    #expect(error?.message.contains("/no/such/file") == true)
  }

  @Test(arguments: ["in.ndjson", "./in.ndjson", "hard", "symbolic"])
  func `an input file is not overwritten, whatever its path`(name: String) async throws {
    let folder = try TemporaryFolder()
    let content = #"{"key":"f","ts":0,"value":{"op":"section.upsert","section":"s"}}"# + "\n"
    let input = try folder.file("in.ndjson", content.utf8)
    try FileManager.default.linkItem(atPath: input, toPath: folder.path("hard"))
    try FileManager.default.createSymbolicLink(atPath: folder.path("symbolic"), withDestinationPath: input)
    let written = "\(folder.url.path)/\(name)"
    for (option, output, rejected) in [
      ("--output", written, nil), ("--rejected", folder.path("out"), written),
    ] {
      let replay = Replay(["/dev/null", input], to: output, rejected: rejected)
      let error = await #expect(throws: UsageError.self) { try await replay.run() }
      let same = written == input ? written : "\(written), the same file as \(input)"
      #expect(error?.description == "\(option) is \(same), which is also read; name another file")
      #expect(try folder.read("in.ndjson") == content)
      #expect(!FileManager.default.fileExists(atPath: folder.path("out")))
    }
  }

  @Test(arguments: ["out", "./out", "hard", "symbolic"])
  func `changesets and rejected records can share a file, whatever its path`(name: String) async throws {
    let input = randomInput(seed: 6, 300)
    let separate = try await ReplayRun(input.utf8)
    let folder = try TemporaryFolder()
    let output = try folder.file("out", "what was there before".utf8)
    try FileManager.default.linkItem(atPath: output, toPath: folder.path("hard"))
    try FileManager.default.createSymbolicLink(atPath: folder.path("symbolic"), withDestinationPath: output)
    _ = try await Replay(
      [try folder.file("in", input.utf8)],
      to: output,
      rejected: "\(folder.url.path)/\(name)"
    ).run()
    let lines = try folder.read("out").split(separator: "\n")
    let (changesets, rejected) = (
      lines.filter { $0.contains("feeds.changesets") }, lines.filter { $0.contains("feeds.rejected") }
    )
    #expect(changesets == separate.output.split(separator: "\n"))
    #expect(rejected == separate.rejected.split(separator: "\n"))
    #expect(changesets.count + rejected.count == lines.count)
  }

  @Test func `a device may be both read and written`() async throws {
    let replay = Replay(["/dev/null"], rejected: "/dev/null")
    #expect(try await replay.run().counters.records == 0)
  }

  @Test func `a rejected record keeps its value as spelled, or as base64`() async throws {
    var input = Array(#"{"key":"f","ts":5,"value":{ "op" : "no" }}"#.utf8) + [0x0A]
    input += Array(#"{"key":"f","value":""#.utf8) + [0xFF] + Array("\"}\n".utf8)
    input += Array(#"{"payload":null,"partition":3}"#.utf8)
    let run = try await ReplayRun(input)
    #expect(run.report.rejectedRecords == 3)
    let lines = run.rejected.split(separator: "\n")
    #expect(lines[0].hasSuffix(#""key":"f","payload":"{ \"op\" : \"no\" }"}"#))
    #expect(lines[0].contains(#""ts":5,"headers":["feedstore.error.code","unknown-op""#))
    #expect(lines[1].hasSuffix(#""key":"f","payloadBase64":"Iv8i"}"#))
    #expect(lines[2].hasPrefix(#"{"topic":"feeds.rejected","partition":3,"offset":0,"ts":5,"#))
    #expect(lines[2].hasSuffix(#""key":null,"payload":null}"#))
  }

  @Test func `rejected records that are not UTF-8 are rejected again with the same bytes`()
    async throws
  {
    func line(_ pieces: [[UInt8]]) -> [UInt8] { pieces.flatMap { $0 } + [0x0A] }
    let folder = try TemporaryFolder()
    // Lengths of each remainder modulo 3, in key, value or both; one with a UTF-8 key, one with a null value.
    var input: [UInt8] = []
    let wrong: [[UInt8]] = [[0xFF], [0xC3, 0x28], [0xFF, 0x61, 0xFE], [0xF0, 0x9F, 0x98, 0x61]]
    for (number, bytes) in wrong.enumerated() {
      let start = Array(#"{"ts":\#(number),"key":""#.utf8)
      input += line([start, bytes, Array(#"","payload":"{}"}"#.utf8)])
      input += line([start, Array(#"f","payload":""#.utf8), bytes, Array("\"}".utf8)])
      input += line([start, bytes, Array(#"","payload":""#.utf8), bytes, Array("\"}".utf8)])
      input += line([start, bytes, Array(#"","payload":null}"#.utf8)])
    }
    var paths = [try folder.file("in", input)]
    for name in ["first", "second"] {
      let report = try await Replay([paths[paths.count - 1]], rejected: folder.path(name)).run()
      #expect(report.rejectedRecords == 16)
      #expect(report.counters.rejects == [.invalidUTF8: 16])
      paths.append(folder.path(name))
    }
    // Without headers, which contain the source of each.
    func records(_ name: String) throws -> [String] {
      try folder.read(name).split(separator: "\n").map {
        String($0.replacing(/"headers":\[.*?\],/, with: ""))
      }
    }
    let first = try records("first")
    #expect(first.count { $0.contains("keyBase64") } == 12)
    #expect(first.count { $0.contains("payloadBase64") } == 8)
    #expect(try records("second") == first)
  }

  @Test func `lines without a topic belong to the items topic`() async throws {
    var options = FeedStoreOptions()
    options.topics.items = "other.items"
    let result = try await ReplayRun(
      #"{"key":"f","value":{"op":"feed.replace","sections":[]}}"#.utf8,
      options
    )
    #expect(result.output.contains(#""epoch":"other.items:0/0""#))
  }

  @Test func `the output of a replay can be read as input`() async throws {
    let first = try await ReplayRun(randomInput(seed: 5, 300).utf8)
    // Changesets are not events, so all are rejected, but every line is valid.
    let second = try await ReplayRun((first.output + first.rejected).utf8)
    #expect(second.report.counters.records == (first.output + first.rejected).split(separator: "\n").count)
  }

  @Test func `there is no offset after the largest`() async throws {
    let line = #"{"key":"a","value":null"#
    await #expect(throws: ReplayError.self) {
      try await ReplayRun("\(line),\"offset\":9007199254740991}\n\(line)}\n".utf8)
    }
    let largest = try await ReplayRun("\(line),\"offset\":9007199254740991}\n".utf8)
    #expect(largest.report.counters.records == 1)
  }

  @Test
  func `timestamps outside of the years 0 to 9999 count as the nearest within, and the output is right`()
    async throws
  {
    let folder = try TemporaryFolder()
    let event = #"{"op":"item.upsert","item":"a","section":"s","data":"#
    var lines: [String] = []
    for (number, ts) in [Int64.min, -62_167_219_200_001, -1, 253_402_300_800_000, .max].enumerated() {
      lines += [#"{"ts":\#(ts),"key":"f","value":\#(event)\#(number)}}"#, #"{"key":"f","value":1}"#]
    }
    var replay = Replay(
      [try folder.file("in", lines.joined(separator: "\n").utf8)],
      to: folder.path("out"),
      rejected: folder.path("rejected")
    )
    replay.options.coalescing.windowMilliseconds = 0
    replay.options.keyframe.maxBytesRatio = 100
    _ = try await replay.run()
    func times(_ name: String) throws -> [String] {
      try folder.read(name).split(separator: "\n").map {
        String($0.firstMatch(of: /"ts":(-?[0-9]+),/)?.1 ?? "")
      }
    }
    let (first, last) = ("-62167219200000", "253402300799999")
    #expect(try times("out") == [first, first, "-1", last, last])
    #expect(try times("rejected") == [first, first, "-1", last, last])
    #expect(try folder.read("out").contains(#""time":"0000-01-01T00:00:00.000Z""#))
    #expect(try folder.read("rejected").contains(#""feedstore.source.timestamp","9223372036854775807""#))
    #expect(try await VerifiedReplay.verify([folder.path("out")], replay.options).told == [])
  }

  @Test func `a jump back of the timestamps is told once, with both lines`() async throws {
    let told = Mutex<[String]>([])
    let folder = try TemporaryFolder()
    let lines = [1_000, 4_102_444_800_000, 2_000, 1_500, 4_102_444_800_001, 4_102_444_740_001, 3_000].map {
      #"{"ts":\#($0),"key":"f","value":{"op":"feed.clear"}}"#
    }
    var replay = Replay([try folder.file("in", lines.joined(separator: "\n").utf8)])
    replay.log = Log(
      output: DiagnosticOutput(isTerminal: false) { line in told.withLock { $0.append(line) } }
    )
    _ = try await replay.run()
    let warnings = told.withLock { $0 }
    #expect(warnings.count == 2)
    for part in [
      "in:3: the timestamp is 2000 (1970-01-01T00:00:02.000Z), after 4102444800000 (2100-01-01T00:00:00.000Z) in /",
      "in:2; ", "event=replay.time-jumped",
    ] {
      #expect(warnings.first?.contains(part) == true, "\(warnings)")
    }
    #expect(warnings.last?.contains("in:7: the timestamp is 3000") == true)
  }

  @Test func `the report counts fields that are ignored`() async throws {
    let line = #"{"key":"f","value":{"op":"section.upsert","section":"s","items":[],"x\u001b":1}}"#
    let report = try await ReplayRun("\(line)\n\(line)\n".utf8).report.text
    #expect(report.contains("section.upsert items 2, section.upsert x"), "\(report)")
    #expect(!report.contains("\u{1B}"))
  }

  @Test func `the report counts the items that sections do not keep`() async throws {
    let line =
      #"{"key":"f","value":{"op":"section.replace","section":"s","items":["a","b","c","d"],"keep":1}}"#
    let report = try await ReplayRun("\(line)\n{\"key\":\"f\",\"value\":1}\n".utf8).report.text
    #expect(report.contains(/cut items +3\n/), "\(report)")
  }

  @Test func `a message names the event's number, even in an array of one`() async throws {
    let result = try await ReplayRun(#"{"key":"f","value":[{"op":"item.upsert","item":"x"}]}"#.utf8)
    #expect(result.rejected.contains("event 0: field 'section' is missing"))
  }
}
