#pragma once

#include <librdkafka/rdkafka.h>

/// Ends the process with status 1, and says which call failed and why.
void failCall(const char *call, const char *reason) __attribute__((noreturn));

/// Fails the call for an error.
void check(rd_kafka_error_t *error, const char *call);

/// Fails the call for a code that is not 0.
void checkCode(rd_kafka_resp_err_t code, const char *call);

/// Makes a client with settings up to one without a name; without an address if that is NULL.
rd_kafka_t *makeClient(rd_kafka_type_t type, const char *address, const char *const (*settings)[2]);

/// Nanoseconds of a clock that nobody sets.
long long monotonicNanoseconds(void);
