#pragma once

#include <stddef.h>
#include <stdint.h>

// What measurements on a cluster need around the program that they measure. Whatever goes wrong ends the process with
// status 1 and the reason. All topics have one partition.

/// Sends records to a topic.
struct Sender;

/// - Parameter lingerMilliseconds: the producer's linger.ms, as text.
struct Sender *openSender(const char *address, const char *topic, const char *lingerMilliseconds);

/// Queues a record; waits while the queue is full.
void sendRecord(struct Sender *sender, const char *key, size_t keySize, const char *value, size_t valueSize);

/// Waits until all is delivered.
void closeSender(struct Sender *sender);

/// Asks what a group has committed, without being a member.
struct GroupWatch;

struct GroupWatch *openGroupWatch(const char *address, const char *group);

/// The offset that is committed for a topic; -1 if there is none.
int64_t committedOffset(struct GroupWatch *watch, const char *topic);

void closeGroupWatch(struct GroupWatch *watch);

/// Notes when numbered records come out of a topic, committed records only: a number is what stands behind each `"n":` in
/// a record's value.
struct ArrivalReader;

/// Reads from the end of the topic on, on a thread of its own; returns once it does.
///
/// - Parameter count: the numbers that are noted are less than this.
struct ArrivalReader *openArrivalReader(const char *address, const char *topic, size_t count);

/// How many numbers have come.
size_t arrivedCount(struct ArrivalReader *reader);

/// Stops reading.
///
/// - Returns: for each number when it came first, in nanoseconds of the monotonic clock, or 0 if it did not; to be freed.
int64_t *closeArrivalReader(struct ArrivalReader *reader);

void deleteTopic(const char *address, const char *name);
