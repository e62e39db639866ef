import FeedStore
import FeedTools
public import FeedWorker
import Service

extension DaemonReport {
  /// The report as text, for standard error.
  public var text: String {
    var table = ReportTable("run")
    table.add("records", count: counters.records)
    table.add("events", count: counters.events)
    table.add("feeds", count: feeds.count)
    table.add(counters)
    table.add("transactions", count: counters.flushes)
    table.add("bytes in", bytes: counters.inputBytes)
    table.add("bytes out", bytes: counters.outputBytes)
    return table.text
  }
}
