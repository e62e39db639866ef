#pragma once

#include <stddef.h>
#include <stdint.h>
// What Swift's glibc module lacks.
#include <sys/epoll.h>

// Tools for measurements on a cluster, around the program that is measured. An error ends the process with status 1 and
// the reason. All topics have one partition.

/// Sends records to a topic.
struct Sender;

/// - Parameter lingerMilliseconds: the producer's linger.ms, as text.
struct Sender *openSender(const char *address, const char *topic, const char *lingerMilliseconds);

/// Queues a record; waits while the queue is full.
void sendRecord(struct Sender *sender, const char *key, size_t keySize, const char *value, size_t valueSize);

/// Waits until all records are delivered.
void closeSender(struct Sender *sender);

/// Queries what a group has committed, without being a member.
struct GroupWatch;

struct GroupWatch *openGroupWatch(const char *address, const char *group);

/// The committed offset of a topic; -1 if there is none.
int64_t committedOffset(struct GroupWatch *watch, const char *topic);

void closeGroupWatch(struct GroupWatch *watch);

/// Records when numbered records arrive on a topic; committed records only. Each `"n":` in a record's value is followed
/// by a number.
struct ArrivalReader;

/// Reads from the current end of the topic, on a separate thread; returns once reading has started.
///
/// - Parameter count: larger numbers are ignored, as is this one.
struct ArrivalReader *openArrivalReader(const char *address, const char *topic, size_t count);

/// The count of numbers that have arrived.
size_t arrivedCount(struct ArrivalReader *reader);

/// Stops reading.
///
/// - Returns: the first arrival of each number, in nanoseconds of the monotonic clock, or 0; the caller frees it.
int64_t *closeArrivalReader(struct ArrivalReader *reader);

void deleteTopic(const char *address, const char *name);
