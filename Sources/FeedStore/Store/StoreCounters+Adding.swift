import Feed

extension StoreCounters {
  /// The sum of two stores' counters.
  package func adding(_ other: StoreCounters) -> StoreCounters {
    var sum = self
    sum.records += other.records
    sum.events += other.events
    sum.inputBytes += other.inputBytes
    sum.changesets.merge(other.changesets, uniquingKeysWith: +)
    sum.reloads.merge(other.reloads, uniquingKeysWith: +)
    sum.entries.deletes += other.entries.deletes
    sum.entries.inserts += other.entries.inserts
    sum.entries.moves += other.entries.moves
    sum.entries.reconfigures += other.entries.reconfigures
    sum.entries.reloads += other.entries.reloads
    sum.rejects.merge(other.rejects, uniquingKeysWith: +)
    sum.noOps.merge(other.noOps, uniquingKeysWith: +)
    sum.outputRecords += other.outputRecords
    sum.outputBytes += other.outputBytes
    sum.flushes += other.flushes
    return sum
  }
}
