#pragma once

#include <librdkafka/rdkafka.h>

/// Ends the process with status 1, and prints the failed call with the reason.
void failCall(const char *call, const char *reason) __attribute__((noreturn));

/// Ends the process if there is an error.
void check(rd_kafka_error_t *error, const char *call);

/// Ends the process if the code is not 0.
void checkCode(rd_kafka_resp_err_t code, const char *call);

/// Creates a client with settings, terminated by one without a name. The address may be NULL.
rd_kafka_t *makeClient(rd_kafka_type_t type, const char *address, const char *const (*settings)[2]);

/// Nanoseconds of a monotonic clock.
long long monotonicNanoseconds(void);
