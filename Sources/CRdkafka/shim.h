#ifndef FEEDSTORE_CRDKAFKA_SHIM_H
#define FEEDSTORE_CRDKAFKA_SHIM_H

// Parts of librdkafka that Swift cannot import, or only at a cost: unions, variadic functions and macros.
// Swift calls all others directly.

#include <dirent.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

// One header: where its name and value lie in a buffer of bytes. A value size of -1 is a null value.
typedef struct feedstore_header_s {
  size_t name_offset;
  size_t name_size;
  size_t value_offset;
  ssize_t value_size;
} feedstore_header_t;

// Appends one record to the producer's queue; librdkafka copies key, value and headers.
//
// A NULL key or value is a Kafka null; an empty one is a pointer that is not NULL and a size of 0. The record's delivery
// report has the number. Returns NULL, or an error object that the caller destroys.
static inline rd_kafka_error_t *feedstore_produce(
    rd_kafka_t *rk, rd_kafka_topic_t *topic, int32_t partition, int64_t timestamp, const void *key,
    size_t key_size, const void *value, size_t value_size, const void *header_bytes,
    const feedstore_header_t *headers, size_t header_count, intptr_t number) {
  rd_kafka_headers_t *list = NULL;
  rd_kafka_vu_t arguments[8];
  size_t count = 0;

  if (header_count > 0) {
    list = rd_kafka_headers_new(header_count);
    for (size_t i = 0; i < header_count; i++) {
      const char *bytes = (const char *)header_bytes;
      const void *content = headers[i].value_size < 0 ? NULL : bytes + headers[i].value_offset;
      rd_kafka_resp_err_t code = rd_kafka_header_add(
          list, bytes + headers[i].name_offset, (ssize_t)headers[i].name_size, content,
          headers[i].value_size < 0 ? 0 : headers[i].value_size);
      if (code != RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_headers_destroy(list);
        return rd_kafka_error_new(code, "header %d: %s", (int)i, rd_kafka_err2str(code));
      }
    }
  }

  arguments[count].vtype = RD_KAFKA_VTYPE_RKT;
  arguments[count++].u.rkt = topic;
  arguments[count].vtype = RD_KAFKA_VTYPE_PARTITION;
  arguments[count++].u.i32 = partition;
  arguments[count].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
  arguments[count++].u.i = RD_KAFKA_MSG_F_COPY;
  arguments[count].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
  arguments[count++].u.i64 = timestamp;
  arguments[count].vtype = RD_KAFKA_VTYPE_KEY;
  arguments[count].u.mem.ptr = (void *)key;
  arguments[count++].u.mem.size = key_size;
  arguments[count].vtype = RD_KAFKA_VTYPE_VALUE;
  arguments[count].u.mem.ptr = (void *)value;
  arguments[count++].u.mem.size = value_size;
  arguments[count].vtype = RD_KAFKA_VTYPE_OPAQUE;
  arguments[count++].u.ptr = (void *)number;
  if (list != NULL) {
    arguments[count].vtype = RD_KAFKA_VTYPE_HEADERS;
    arguments[count++].u.headers = list;
  }

  rd_kafka_error_t *error = rd_kafka_produceva(rk, arguments, count);
  // librdkafka owns the headers only when it has accepted the record.
  if (error != NULL && list != NULL) rd_kafka_headers_destroy(list);
  return error;
}

// Delays the next request of this kind to this broker of a mock cluster, and answers it with an error if the code is
// not 0.
static inline rd_kafka_resp_err_t feedstore_mock_delay_request(
    rd_kafka_mock_cluster_t *cluster, int32_t broker, int16_t api_key, rd_kafka_resp_err_t code,
    int delay_milliseconds) {
  return rd_kafka_mock_broker_push_request_error_rtts(
      cluster, broker, api_key, 1, code, delay_milliseconds);
}

// Disables Nagle's algorithm on the process's socket that listens at a port; Linux does the same on its accepted
// connections. A mock broker does not reveal its socket.
static inline void feedstore_mock_send_at_once(uint16_t port) {
  DIR *folder = opendir("/proc/self/fd");
  if (folder == NULL) return;
  for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
    int descriptor = atoi(entry->d_name), listens = 0, yes = 1;
    socklen_t size = sizeof(listens), address_size = sizeof(struct sockaddr_in);
    struct sockaddr_in address;
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens &&
        getsockname(descriptor, (struct sockaddr *)&address, &address_size) == 0 &&
        address.sin_family == AF_INET && ntohs(address.sin_port) == port) {
      setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    }
  }
  closedir(folder);
}

#endif
