import ChangesetTestSupport
import Feed
import FeedStore
import FeedTestSupport
import FeedVerification
import Foundation
import Oracle
import Testing

@testable import FeedConfiguration
@testable import FeedTools

/// FeedStore's own output is valid.
@Suite struct VerifyAcceptanceTests {
  @Test func `every golden output is valid`() async throws {
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Golden")
    let files = try FileManager.default.contentsOfDirectory(atPath: golden.path)
    let names = files.filter { $0.hasSuffix(".output.ndjson") }
    #expect(names.count >= 4)
    for name in names {
      let config = golden.appendingPathComponent(name.replacing(".output.ndjson", with: ".config.json5")).path
      let file = FileManager.default.fileExists(atPath: config) ? config : nil
      let configuration = try ConfigurationSources(file: file).load().configuration
      let path = golden.appendingPathComponent(name).path
      let (told, report) = try await VerifiedReplay.verify([path], configuration.store)
      #expect(told == [], "\(name)")
      #expect(report.isRight && report.counts.records > 0 && report.counts.recordsPassedOver == 0)
    }
  }

  @Test(arguments: RandomSetting.ofVerification, RandomCases.seeds(41...44))
  func `the replay of random records is valid`(setting: RandomSetting, seed: UInt64) async throws {
    let replay = try await VerifiedReplay(seed: seed, setting, count: 800, hasContents: seed > 42)
    let (told, report) = try await replay.verify(replay.lines)
    #expect(told == [], "setting \(setting), seed \(seed)")
    #expect(report.counts.records == replay.lines.count)
  }

  @Test func `the settings cause parts, keyframes, deletions and reloads with fewer parts`() async throws {
    var (parts, surplus) = (0, 0)
    for setting in RandomSetting.ofVerification {
      let replay = try await VerifiedReplay(seed: 41, setting, count: 800)
      parts += replay.lines.count { $0.contains(#","part":1,"#) }
      let nulls = replay.lines.indices.filter { replay.lines[$0].hasSuffix(#","value":null}"#) }
      surplus += nulls.count { replay.lines[$0 - 1].contains(#""mode":"reload""#) }
      let total = try await replay.verify(replay.lines).report.counts
      #expect(total.changesets[.delete, default: 0] > 0 && total.nulls > 0)
    }
    #expect(parts > 50 && surplus > 5, "\(parts) later parts, \(surplus) surplus keys")
  }

  @Test func `an empty file is valid`() async throws {
    let replay = try await VerifiedReplay([], FeedStoreOptions())
    #expect(try await replay.verify([]).report.isRight)
  }

  @Test func `rejected records in the same file are skipped`() async throws {
    let folder = try TemporaryFolder()
    let input =
      #"{"key":"f","value":{"op":"section.upsert","section":"s"}}"# + "\n{\"key\":\"f\",\"value\":1}\n"
    let output = folder.path("verified")
    _ = try await Replay([try folder.file("input", input.utf8)], to: output, rejected: output).run()
    let (told, report) = try await VerifiedReplay.verify([output], FeedStoreOptions())
    #expect(told == [])
    #expect(report.counts.records == 1)
  }

  @Test func `several files are one input`() async throws {
    let replay = try await VerifiedReplay(seed: 44, .keyframes, count: 200)
    let folder = try TemporaryFolder()
    let half = replay.lines.count / 2
    let first = try folder.file("a", replay.lines[..<half].joined(separator: "\n").utf8)
    let second = try folder.file("verified", replay.lines[half...].joined(separator: "\n").utf8)
    #expect(try await VerifiedReplay.verify([first, second], replay.options).report.isRight)
    let (told, _) = try await VerifiedReplay.verify([second], replay.options)
    #expect(told.contains { $0.hasPrefix("1: ") }, "the second without the first begins in the middle")
  }

  @Test(
    .disabled(if: RealHistory.areAbsent, "the real replay files are not beside the checkout"),
    arguments: RealHistory.all
  )
  func `the replay of a real history is valid`(history: RealHistory) async throws {
    let input = try history.lines().map { String(decoding: $0, as: UTF8.self) }
    let replay = try await VerifiedReplay(input, FeedStoreOptions())
    let (told, report) = try await replay.verify(replay.lines)
    #expect(told == [])
    #expect(report.counts.records > 0)
  }
}
