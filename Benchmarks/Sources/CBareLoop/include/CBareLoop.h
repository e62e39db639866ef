#pragma once

#include "KafkaTools.h"

/// The options of ``runBareLoop``.
struct BareLoopOptions {
  /// The cluster; NULL for an embedded broker, whose address is then printed on standard output.
  const char *address;
  const char *input;
  const char *output;
  /// The group, and the producer's transactional id.
  const char *group;
  /// Milliseconds from the first record of a transaction to its commit.
  int windowMilliseconds;
  /// One of this many records is written, unchanged.
  int recordsPerOutput;
  /// The producer's linger.ms, as text.
  const char *lingerMilliseconds;
};

/// The minimum that any program between two topics does, as a yardstick for FeedStore's cost.
///
/// Consumes a topic, and produces some of its records to another, with the offsets, in one transaction per window.
/// Writes "ready" to standard error when it has partitions. After SIGTERM it writes the numbers of records and
/// transactions, and returns 0. An error ends the process with status 1 and the reason.
int runBareLoop(struct BareLoopOptions options);

/// Bytes that the process has allocated and not freed.
size_t allocatedBytes(void);
