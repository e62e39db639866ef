// For memmem.
#define _GNU_SOURCE

#include "KafkaTools.h"
#include "Client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
  timeoutMilliseconds = 30000,
  pollMilliseconds = 100,
};

// MARK: Sending

struct Sender {
  rd_kafka_t *client;
  rd_kafka_topic_t *topic;
};

struct Sender *openSender(const char *address, const char *topic, const char *lingerMilliseconds) {
  const char *const settings[][2] = {{"linger.ms", lingerMilliseconds},
                                     {"socket.nagle.disable", "true"},
                                     {"enable.idempotence", "true"},
                                     {"delivery.report.only.error", "true"},
                                     {NULL, NULL}};
  struct Sender *sender = malloc(sizeof *sender);
  sender->client = makeClient(RD_KAFKA_PRODUCER, address, settings);
  sender->topic = rd_kafka_topic_new(sender->client, topic, NULL);
  if (!sender->topic) failCall("rd_kafka_topic_new", rd_kafka_err2str(rd_kafka_last_error()));
  return sender;
}

void sendRecord(struct Sender *sender, const char *key, size_t keySize, const char *value, size_t valueSize) {
  while (rd_kafka_produce(sender->topic, 0, RD_KAFKA_MSG_F_COPY, (void *)value, valueSize, key, keySize, NULL)) {
    rd_kafka_resp_err_t code = rd_kafka_last_error();
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) failCall("rd_kafka_produce", rd_kafka_err2str(code));
    rd_kafka_poll(sender->client, 1);
  }
}

void closeSender(struct Sender *sender) {
  checkCode(rd_kafka_flush(sender->client, timeoutMilliseconds), "rd_kafka_flush");
  rd_kafka_topic_destroy(sender->topic);
  rd_kafka_destroy(sender->client);
  free(sender);
}

// MARK: Watching a group

struct GroupWatch {
  rd_kafka_t *client;
};

struct GroupWatch *openGroupWatch(const char *address, const char *group) {
  // Not read_committed, because the response would then wait for the open transaction.
  const char *const settings[][2] = {
      {"group.id", group}, {"isolation.level", "read_uncommitted"}, {"socket.nagle.disable", "true"}, {NULL, NULL}};
  struct GroupWatch *watch = malloc(sizeof *watch);
  watch->client = makeClient(RD_KAFKA_CONSUMER, address, settings);
  return watch;
}

int64_t committedOffset(struct GroupWatch *watch, const char *topic) {
  rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_t *partition = rd_kafka_topic_partition_list_add(list, topic, 0);
  checkCode(rd_kafka_committed(watch->client, list, timeoutMilliseconds), "rd_kafka_committed");
  checkCode(partition->err, "rd_kafka_committed");
  int64_t offset = partition->offset;
  rd_kafka_topic_partition_list_destroy(list);
  return offset < 0 ? -1 : offset;
}

void closeGroupWatch(struct GroupWatch *watch) {
  rd_kafka_destroy(watch->client);
  free(watch);
}

// MARK: Noting arrivals

struct ArrivalReader {
  rd_kafka_t *client;
  pthread_t thread;
  atomic_int hasEnded;
  atomic_size_t arrived;
  size_t count;
  int64_t *times;
};

static void note(struct ArrivalReader *reader, const rd_kafka_message_t *message, int64_t time) {
  static const char mark[] = "\"n\":";
  const char *at = message->payload;
  const char *end = at + message->len;
  while (at && (at = memmem(at, end - at, mark, sizeof mark - 1))) {
    at += sizeof mark - 1;
    size_t number = 0;
    for (; at < end && *at >= '0' && *at <= '9'; at++) number = number * 10 + (*at - '0');
    if (number >= reader->count || reader->times[number]) continue;
    reader->times[number] = time;
    atomic_fetch_add(&reader->arrived, 1);
  }
}

static void *readArrivals(void *argument) {
  struct ArrivalReader *reader = argument;
  while (!atomic_load(&reader->hasEnded)) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(reader->client, pollMilliseconds);
    if (!message) continue;
    if (!message->err) note(reader, message, monotonicNanoseconds());
    rd_kafka_message_destroy(message);
  }
  return NULL;
}

struct ArrivalReader *openArrivalReader(const char *address, const char *topic, size_t count) {
  const char *const settings[][2] = {{"group.id", "arrivals"},
                                     {"enable.auto.commit", "false"},
                                     {"isolation.level", "read_committed"},
                                     {"socket.nagle.disable", "true"},
                                     {NULL, NULL}};
  struct ArrivalReader *reader = calloc(1, sizeof *reader);
  reader->client = makeClient(RD_KAFKA_CONSUMER, address, settings);
  checkCode(rd_kafka_poll_set_consumer(reader->client), "rd_kafka_poll_set_consumer");
  reader->count = count;
  reader->times = calloc(count, sizeof *reader->times);
  int64_t low, high;
  checkCode(rd_kafka_query_watermark_offsets(reader->client, topic, 0, &low, &high, timeoutMilliseconds),
            "rd_kafka_query_watermark_offsets");
  rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic, 0)->offset = high;
  checkCode(rd_kafka_assign(reader->client, list), "rd_kafka_assign");
  rd_kafka_topic_partition_list_destroy(list);
  if (pthread_create(&reader->thread, NULL, readArrivals, reader)) failCall("pthread_create", "no thread");
  return reader;
}

size_t arrivedCount(struct ArrivalReader *reader) { return atomic_load(&reader->arrived); }

int64_t *closeArrivalReader(struct ArrivalReader *reader) {
  atomic_store(&reader->hasEnded, 1);
  pthread_join(reader->thread, NULL);
  rd_kafka_consumer_close(reader->client);
  rd_kafka_destroy(reader->client);
  int64_t *times = reader->times;
  free(reader);
  return times;
}

// MARK: Topics

void deleteTopic(const char *address, const char *name) {
  rd_kafka_t *client = makeClient(RD_KAFKA_PRODUCER, address, NULL);
  rd_kafka_queue_t *queue = rd_kafka_queue_new(client);
  rd_kafka_DeleteTopic_t *topic = rd_kafka_DeleteTopic_new(name);
  rd_kafka_DeleteTopics(client, &topic, 1, NULL, queue);
  rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeoutMilliseconds);
  if (!event) failCall("rd_kafka_DeleteTopics", "no answer");
  if (rd_kafka_event_error(event)) failCall("rd_kafka_DeleteTopics", rd_kafka_event_error_string(event));
  rd_kafka_event_destroy(event);
  rd_kafka_DeleteTopic_destroy(topic);
  rd_kafka_queue_destroy(queue);
  rd_kafka_destroy(client);
}
