import Glibc

/// The cost of metrics at full load, and of a scrape.
enum MetricsCost {
  private static let recordCount = 400_000
  private static let recordsPerSecond = 40_000
  private static let runs = 5
  /// The number of scrapes after the load has ended.
  private static let scrapes = 200

  private enum Arm: String, CaseIterable {
    case off = "HTTP off"
    case quiet = "metrics, not scraped"
    case scraped = "scraped each second"
  }

  private struct Run {
    /// Processor time of all threads except the embedded broker's, in nanoseconds.
    var total: UInt64
    /// Processor time of the worker's thread.
    var worker: UInt64
    /// Processor time of the serving threads.
    var serving: UInt64
    /// Processor time of the serving threads for one scrape, measured separately.
    var scrape: UInt64
    var residentBytes: Int
  }

  static func run(feedstore: String) {
    let records = KafkaCost.sampleRecords(recordCount)
    var results: [Arm: [Run]] = [:]
    // Alternating, so that other load on the machine affects all equally.
    for _ in 0..<runs {
      for arm in Arm.allCases { results[arm, default: []].append(runDaemon(feedstore, records, arm)) }
    }
    print(results)
  }

  private static func runDaemon(
    _ feedstore: String,
    _ records: [(feed: String, text: String)],
    _ arm: Arm
  ) -> Run {
    let settings = arm == .off ? [] : ["http.enabled=true", "http.feeds=false", "http.port=0"]
    let daemon = RunningProcess(feedstore, ["run", "--embedded"] + settings.flatMap { ["--set", $0] })
    let address = daemon.readLine()
    daemon.wait(for: " restored ", seconds: 30)
    let port = arm == .off ? 0 : daemon.port
    var before: [ThreadTime] = []
    let scraper = arm == .scraped ? Scraper(port) : nil
    KafkaCost.publish(feedstore, records, recordsPerSecond, to: address) {
      before = ThreadTime.all(of: daemon.id)
    }
    sleep(1)
    let after = ThreadTime.all(of: daemon.id)
    scraper?.stop()
    let resident = daemon.residentBytes
    guard let threads = DaemonThreads(from: before, to: after) else {
      BenchmarksCommand.fail("whose the threads are cannot be told")
    }
    var perScrape: UInt64 = 0
    if arm == .quiet {
      for _ in 0..<scrapes { _ = scrape(port) }
      perScrape = ThreadTime.used(from: after, to: ThreadTime.all(of: daemon.id), isServing) / UInt64(scrapes)
    }
    guard DaemonReport(daemon.stop()).sum(of: "records") == recordCount else {
      BenchmarksCommand.fail("the embedded broker dropped records")
    }
    return Run(
      total: threads.consumer + threads.producer + threads.worker,
      worker: ThreadTime.used(from: before, to: after) { $0 == "worker-0" },
      serving: ThreadTime.used(from: before, to: after, isServing),
      scrape: perScrape,
      residentBytes: resident
    )
  }

  /// A request like Prometheus's.
  private static func scrape(_ port: Int) -> String {
    let fields =
      "Accept: application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5\r\n"
      + "Accept-Encoding: gzip\r\n"
    return HTTPCost.get(port, "/metrics", fields: fields)
  }

  private static func isServing(_ name: String) -> Bool { name.hasPrefix("MHD-") || name.hasPrefix("http-") }

  /// Requests the metrics each second, on a separate thread.
  private final class Scraper {
    private final class State {
      let port: Int
      // Written by one thread, read by the other; one scrape more or less does not matter.
      nonisolated(unsafe) var isEnded = false

      init(_ port: Int) { self.port = port }
    }

    private let state: State
    private var thread = pthread_t()

    init(_ port: Int) {
      state = State(port)
      let owner = Unmanaged.passRetained(state).toOpaque()
      pthread_create(
        &thread,
        nil,
        { @Sendable owner in
          let state = Unmanaged<State>.fromOpaque(owner!).takeRetainedValue()
          while !state.isEnded {
            _ = MetricsCost.scrape(state.port)
            usleep(1_000_000)
          }
          return nil
        },
        owner
      )
    }

    func stop() {
      state.isEnded = true
      pthread_join(thread, nil)
    }
  }

  // MARK: Output

  private static func print(_ results: [Arm: [Run]]) {
    var table = MarkdownTable(["processor seconds per million records"] + Arm.allCases.map(\.rawValue))
    func add(_ name: String, as text: (Double) -> String, _ value: (Arm, Int) -> Double) {
      table.add(
        [name]
          + Arm.allCases.map { arm in
            let values = (0..<runs).map { value(arm, $0) }.sorted()
            return text(values[runs / 2])
          }
      )
    }
    func run(_ arm: Arm, _ number: Int) -> Run { results[arm]![number] }
    func perMillion(_ nanoseconds: Double) -> String {
      Format.decimal(nanoseconds / Double(recordCount) * 1e6 / 1e9)
    }
    func milliseconds(_ nanoseconds: Double) -> String {
      nanoseconds == 0 ? "" : "\(Format.decimal(nanoseconds / 1e6)) ms"
    }
    func thousandths(_ ratio: Double) -> String { "\(Int((ratio * 1000).rounded()))" }
    func mebibytes(_ bytes: Double) -> String { "\(Int(bytes) >> 20) MiB" }
    add("all", as: perMillion) { Double(run($0, $1).total) }
    add("worker", as: perMillion) { Double(run($0, $1).worker) }
    add("serving", as: milliseconds) { Double(run($0, $1).serving) }
    add("one scrape", as: milliseconds) { Double(run($0, $1).scrape) }
    // The ratios of consecutive runs.
    add("all, in thousandths of that with HTTP off", as: thousandths) {
      Double(run($0, $1).total) / Double(run(.off, $1).total)
    }
    add("resident memory", as: mebibytes) { Double(run($0, $1).residentBytes) }
    Swift.print("### Metrics\n\nMedians of \(runs) runs.\n")
    Swift.print(table.text)
  }
}
