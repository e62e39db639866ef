#pragma once

/// The least that any program between two topics does, as the yardstick of what FeedStore costs.
///
/// Starts an embedded broker, writes its address as a line to standard output, consumes `feeds.items` from it, and
/// produces every second record to `feeds.changesets`, with the offsets, in a transaction for each window. Writes
/// "ready" to standard error as soon as it has partitions; at SIGTERM, how many records and transactions there were,
/// and returns 0. Whatever goes wrong ends the process with status 1 and the reason.
int runBareLoop(int windowMilliseconds);
