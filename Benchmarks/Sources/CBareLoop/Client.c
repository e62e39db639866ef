#include "Client.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void failCall(const char *call, const char *reason) {
  fprintf(stderr, "%s: %s\n", call, reason);
  exit(1);
}

void check(rd_kafka_error_t *error, const char *call) {
  if (error) failCall(call, rd_kafka_error_string(error));
}

void checkCode(rd_kafka_resp_err_t code, const char *call) {
  if (code) failCall(call, rd_kafka_err2str(code));
}

rd_kafka_t *makeClient(rd_kafka_type_t type, const char *address, const char *const (*settings)[2]) {
  char reason[512];
  rd_kafka_conf_t *configuration = rd_kafka_conf_new();
  if (address && rd_kafka_conf_set(configuration, "bootstrap.servers", address, reason, sizeof reason))
    failCall("bootstrap.servers", reason);
  for (; settings && (*settings)[0]; settings++) {
    if (rd_kafka_conf_set(configuration, (*settings)[0], (*settings)[1], reason, sizeof reason))
      failCall((*settings)[0], reason);
  }
  rd_kafka_t *client = rd_kafka_new(type, configuration, reason, sizeof reason);
  if (!client) failCall("rd_kafka_new", reason);
  return client;
}

long long monotonicNanoseconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}
