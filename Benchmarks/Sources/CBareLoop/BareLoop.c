// For pthread_setname_np.
#define _GNU_SOURCE

#include "CBareLoop.h"

#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
  /// As many as `feedstore run --embedded` makes.
  partitionCount = 4,
  batchSize = 10000,
  timeoutMilliseconds = 10000,
  /// How long it waits for a first record.
  idleMilliseconds = 50,
};

static const char *const inputTopic = "feeds.items";
static const char *const outputTopic = "feeds.changesets";

static volatile sig_atomic_t hasEnded;

static void end(int signal) {
  (void)signal;
  hasEnded = 1;
}

static void fail(const char *call, const char *reason) {
  fprintf(stderr, "bare loop: %s: %s\n", call, reason);
  exit(1);
}

static void check(rd_kafka_error_t *error, const char *call) {
  if (error) fail(call, rd_kafka_error_string(error));
}

static void checkCode(rd_kafka_resp_err_t code, const char *call) {
  if (code) fail(call, rd_kafka_err2str(code));
}

static rd_kafka_t *client(rd_kafka_type_t type, const char *address, const char *const (*settings)[2]) {
  char reason[512];
  rd_kafka_conf_t *configuration = rd_kafka_conf_new();
  if (address && rd_kafka_conf_set(configuration, "bootstrap.servers", address, reason, sizeof reason))
    fail("bootstrap.servers", reason);
  for (; settings && (*settings)[0]; settings++) {
    if (rd_kafka_conf_set(configuration, (*settings)[0], (*settings)[1], reason, sizeof reason))
      fail((*settings)[0], reason);
  }
  rd_kafka_t *client = rd_kafka_new(type, configuration, reason, sizeof reason);
  if (!client) fail("rd_kafka_new", reason);
  return client;
}

/// Milliseconds of a clock that nobody sets.
static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

// MARK: The loop

struct Loop {
  const char *address;
  int windowMilliseconds;
  rd_kafka_t *consumer;
  rd_kafka_t *producer;
  rd_kafka_topic_t *output;
  /// Where the input goes on, by partition.
  rd_kafka_topic_partition_list_t *offsets;
  long records;
  long transactions;
};

/// Makes the consumer before the producer, as the daemon does; that tells whose their threads are.
static void connectClients(struct Loop *loop) {
  // What the daemon sets as well, and its embedded broker.
  static const char *const consumerSettings[][2] = {
      {"group.id", "bare-loop"},          {"enable.auto.commit", "false"},
      {"auto.offset.reset", "earliest"},  {"isolation.level", "read_committed"},
      {"socket.nagle.disable", "true"},   {"fetch.wait.max.ms", "20"},
      {"queued.min.messages", "1000000"}, {NULL, NULL}};
  static const char *const producerSettings[][2] = {{"transactional.id", "bare-loop"},
                                                    {"socket.nagle.disable", "true"},
                                                    {"retry.backoff.ms", "20"},
                                                    {NULL, NULL}};
  loop->consumer = client(RD_KAFKA_CONSUMER, loop->address, consumerSettings);
  checkCode(rd_kafka_poll_set_consumer(loop->consumer), "rd_kafka_poll_set_consumer");
  rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(topics, inputTopic, RD_KAFKA_PARTITION_UA);
  checkCode(rd_kafka_subscribe(loop->consumer, topics), "rd_kafka_subscribe");
  rd_kafka_topic_partition_list_destroy(topics);
  // Until it has partitions, so that all its threads come before the producer's.
  for (int count = 0; !count && !hasEnded;) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(loop->consumer, idleMilliseconds);
    if (message) fail("rd_kafka_consumer_poll", "a record before the first was sent");
    rd_kafka_topic_partition_list_t *assigned;
    checkCode(rd_kafka_assignment(loop->consumer, &assigned), "rd_kafka_assignment");
    count = assigned->cnt;
    rd_kafka_topic_partition_list_destroy(assigned);
  }
  loop->producer = client(RD_KAFKA_PRODUCER, loop->address, producerSettings);
  check(rd_kafka_init_transactions(loop->producer, timeoutMilliseconds), "rd_kafka_init_transactions");
  loop->output = rd_kafka_topic_new(loop->producer, outputTopic, NULL);
  if (!loop->output) fail("rd_kafka_topic_new", rd_kafka_err2str(rd_kafka_last_error()));
  loop->offsets = rd_kafka_topic_partition_list_new(partitionCount);
}

static void take(struct Loop *loop, const rd_kafka_message_t *message) {
  rd_kafka_topic_partition_list_t *offsets = loop->offsets;
  rd_kafka_topic_partition_t *next = rd_kafka_topic_partition_list_find(offsets, inputTopic, message->partition);
  if (!next) next = rd_kafka_topic_partition_list_add(offsets, inputTopic, message->partition);
  next->offset = message->offset + 1;
  if (loop->records++ % 2) return;
  while (rd_kafka_produce(loop->output, message->partition, RD_KAFKA_MSG_F_COPY, message->payload, message->len,
                          message->key, message->key_len, NULL)) {
    rd_kafka_resp_err_t code = rd_kafka_last_error();
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) fail("rd_kafka_produce", rd_kafka_err2str(code));
    rd_kafka_poll(loop->producer, 1);
  }
}

static void commit(struct Loop *loop) {
  rd_kafka_consumer_group_metadata_t *group = rd_kafka_consumer_group_metadata(loop->consumer);
  check(rd_kafka_send_offsets_to_transaction(loop->producer, loop->offsets, group, timeoutMilliseconds),
        "rd_kafka_send_offsets_to_transaction");
  rd_kafka_consumer_group_metadata_destroy(group);
  check(rd_kafka_commit_transaction(loop->producer, timeoutMilliseconds), "rd_kafka_commit_transaction");
  loop->transactions++;
}

static void *run(void *argument) {
  struct Loop *loop = argument;
  connectClients(loop);
  fprintf(stderr, "ready\n");
  static rd_kafka_message_t *messages[batchSize];
  rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(loop->consumer);
  int isOpen = 0;
  long long windowEnd = 0;
  while (!hasEnded) {
    long long left = windowEnd - now();
    int wait = !isOpen ? idleMilliseconds : left > 0 ? (int)left : 0;
    ssize_t count = rd_kafka_consume_batch_queue(queue, wait, messages, batchSize);
    for (ssize_t index = 0; index < count; index++) {
      rd_kafka_message_t *message = messages[index];
      checkCode(message->err, "rd_kafka_consume_batch_queue");
      if (!isOpen) {
        check(rd_kafka_begin_transaction(loop->producer), "rd_kafka_begin_transaction");
        isOpen = 1;
        windowEnd = now() + loop->windowMilliseconds;
      }
      take(loop, message);
      rd_kafka_message_destroy(message);
    }
    rd_kafka_poll(loop->producer, 0);
    if (isOpen && now() >= windowEnd) {
      commit(loop);
      isOpen = 0;
    }
  }
  rd_kafka_queue_destroy(queue);
  return NULL;
}

int runBareLoop(int windowMilliseconds) {
  signal(SIGTERM, end);
  // Whoever starts it may have it blocked, as the threads of Swift's tasks do.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  rd_kafka_t *host = client(RD_KAFKA_PRODUCER, NULL, NULL);
  rd_kafka_mock_cluster_t *broker = rd_kafka_mock_cluster_new(host, 1);
  if (!broker) fail("rd_kafka_mock_cluster_new", "no broker");
  checkCode(rd_kafka_mock_topic_create(broker, inputTopic, partitionCount, 1), inputTopic);
  checkCode(rd_kafka_mock_topic_create(broker, outputTopic, partitionCount, 1), outputTopic);
  struct Loop loop = {.address = rd_kafka_mock_cluster_bootstraps(broker), .windowMilliseconds = windowMilliseconds};
  printf("%s\n", loop.address);
  fflush(stdout);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, &loop)) fail("pthread_create", "no thread");
  pthread_setname_np(thread, "worker-0");
  pthread_join(thread, NULL);
  fprintf(stderr, "records %ld\ntransactions %ld\n", loop.records, loop.transactions);
  // What it holds goes with the process.
  return 0;
}
