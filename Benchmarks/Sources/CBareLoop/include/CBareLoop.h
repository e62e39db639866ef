#pragma once

#include "KafkaTools.h"

/// What ``runBareLoop`` reads and writes.
struct BareLoopOptions {
  /// The cluster; NULL for an embedded broker, whose address is then written to standard output as a line.
  const char *address;
  const char *input;
  const char *output;
  /// The group, and the producer's transactional id.
  const char *group;
  /// Milliseconds from the first record of a transaction to its commit.
  int windowMilliseconds;
  /// Of so many records one is written, as it is.
  int recordsPerOutput;
  /// The producer's linger.ms, as text.
  const char *lingerMilliseconds;
};

/// The least that any program between two topics does, as the yardstick of what FeedStore costs.
///
/// Consumes a topic, and produces some of its records to another, with the offsets, in a transaction for each window.
/// Writes "ready" to standard error as soon as it has partitions; at SIGTERM, how many records and transactions there
/// were, and returns 0. Whatever goes wrong ends the process with status 1 and the reason.
int runBareLoop(struct BareLoopOptions options);
