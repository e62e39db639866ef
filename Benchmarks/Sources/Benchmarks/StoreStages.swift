import Feed
import FeedStore
import Workloads

/// Processor time of a worker's stages without Kafka, in nanoseconds.
struct StoreStages {
  var decode: UInt64 = 0
  var apply: UInt64 = 0
  /// Planning, encoding, and confirming publications.
  var publish: UInt64 = 0

  /// Passes the records through a decoder, and then through a store that publishes after each window.
  static func measure(
    _ records: [(feed: String, text: String)],
    recordsPerWindow: Int
  ) async -> StoreStages {
    var options = FeedStoreOptions()
    let limits = options.limits
    options.coalescing.windowMilliseconds = .max
    options.coalescing.idleWindowMilliseconds = .max
    options.coalescing.maxRecords = .max
    options.coalescing.maxBytes = .max
    func windows() -> [RecordList] {
      stride(from: 0, to: records.count, by: recordsPerWindow).map { first in
        let window = records[first..<min(first + recordsPerWindow, records.count)]
        return RecordList(Array(window), firstOffset: Int64(first))
      }
    }
    let decode = decode(windows(), RecordDecoder(limits: limits))
    return await run(windows(), decode, on: FeedStore(options: options))
  }

  private static func decode(_ windows: [RecordList], _ decoder: RecordDecoder) -> UInt64 {
    let started = ThreadTime.current()
    for window in windows {
      while let record = window.current() {
        do throws(Rejection) {
          try decoder.decode(record)
        } catch {
          preconditionFailure("a record of the benchmark was rejected: \(error)")
        }
        window.advance()
      }
    }
    return ThreadTime.current() - started
  }

  /// Inside the store, so that everything runs on one thread, as in a worker.
  private static func run(
    _ windows: [RecordList],
    _ decode: UInt64,
    on store: isolated FeedStore
  ) -> StoreStages {
    var applied: UInt64 = 0
    var stages = StoreStages(decode: decode)
    for window in windows {
      let started = ThreadTime.current()
      do {
        let outcome = try store.apply(window, time: .clock(0))
        precondition(outcome == .exhausted, "the store wants to publish in the middle of a window")
      } catch {
        preconditionFailure("a list of records does not throw: \(error)")
      }
      let taken = ThreadTime.current()
      store.publish { part in
        precondition(part.rejected.isEmpty, "a record of the benchmark was rejected: \(part.rejected)")
      }
      applied += taken - started
      stages.publish += ThreadTime.current() - taken
    }
    stages.apply = applied - min(applied, decode)
    return stages
  }
}
