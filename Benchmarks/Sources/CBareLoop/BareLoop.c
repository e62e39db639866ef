// For pthread_setname_np.
#define _GNU_SOURCE

#include "CBareLoop.h"
#include "Client.h"

#include <librdkafka/rdkafka_mock.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum {
  /// The same number as with `feedstore run --embedded`.
  partitionCount = 4,
  batchSize = 10000,
  timeoutMilliseconds = 10000,
  /// The time to wait for a first record.
  idleMilliseconds = 50,
};

size_t allocatedBytes(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static volatile sig_atomic_t hasEnded;

static void end(int signal) {
  (void)signal;
  hasEnded = 1;
}

/// Milliseconds of a monotonic clock.
static long long now(void) { return monotonicNanoseconds() / 1000000; }

// MARK: The loop

struct Loop {
  struct BareLoopOptions options;
  const char *address;
  rd_kafka_t *consumer;
  rd_kafka_t *producer;
  rd_kafka_topic_t *output;
  /// The next offset of the input, by partition.
  rd_kafka_topic_partition_list_t *offsets;
  long records;
  long transactions;
};

static void makeConsumer(struct Loop *loop) {
  // The same settings as the daemon and its embedded broker.
  const char *const settings[][2] = {{"group.id", loop->options.group},
                                     {"enable.auto.commit", "false"},
                                     {"auto.offset.reset", "earliest"},
                                     {"isolation.level", "read_committed"},
                                     {"socket.nagle.disable", "true"},
                                     {"fetch.wait.max.ms", "20"},
                                     {"queued.min.messages", "1000000"},
                                     {NULL, NULL}};
  loop->consumer = makeClient(RD_KAFKA_CONSUMER, loop->address, settings);
  checkCode(rd_kafka_poll_set_consumer(loop->consumer), "rd_kafka_poll_set_consumer");
  rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(topics, loop->options.input, RD_KAFKA_PARTITION_UA);
  checkCode(rd_kafka_subscribe(loop->consumer, topics), "rd_kafka_subscribe");
  rd_kafka_topic_partition_list_destroy(topics);
}

static void makeProducer(struct Loop *loop) {
  const char *const settings[][2] = {{"transactional.id", loop->options.group},
                                     {"socket.nagle.disable", "true"},
                                     {"retry.backoff.ms", "20"},
                                     {"linger.ms", loop->options.lingerMilliseconds},
                                     {NULL, NULL}};
  loop->producer = makeClient(RD_KAFKA_PRODUCER, loop->address, settings);
  check(rd_kafka_init_transactions(loop->producer, timeoutMilliseconds), "rd_kafka_init_transactions");
  loop->output = rd_kafka_topic_new(loop->producer, loop->options.output, NULL);
  if (!loop->output) failCall("rd_kafka_topic_new", rd_kafka_err2str(rd_kafka_last_error()));
}

static int hasPartitions(const struct Loop *loop) {
  rd_kafka_topic_partition_list_t *assigned;
  checkCode(rd_kafka_assignment(loop->consumer, &assigned), "rd_kafka_assignment");
  int count = assigned->cnt;
  rd_kafka_topic_partition_list_destroy(assigned);
  return count > 0;
}

/// Creates the consumer before the producer, as the daemon does, to identify their threads.
static void connectToMock(struct Loop *loop) {
  makeConsumer(loop);
  // Waits for partitions, so that all its threads are created before the producer's.
  while (!hasEnded && !hasPartitions(loop)) {
    rd_kafka_message_t *message = rd_kafka_consumer_poll(loop->consumer, idleMilliseconds);
    if (message) failCall("rd_kafka_consumer_poll", "a record before the first was sent");
  }
  makeProducer(loop);
}

static void take(struct Loop *loop, const rd_kafka_message_t *message) {
  rd_kafka_topic_partition_list_t *offsets = loop->offsets;
  rd_kafka_topic_partition_t *next = rd_kafka_topic_partition_list_find(offsets, loop->options.input, message->partition);
  if (!next) next = rd_kafka_topic_partition_list_add(offsets, loop->options.input, message->partition);
  next->offset = message->offset + 1;
  if (loop->records++ % loop->options.recordsPerOutput) return;
  while (rd_kafka_produce(loop->output, message->partition, RD_KAFKA_MSG_F_COPY, message->payload, message->len,
                          message->key, message->key_len, NULL)) {
    rd_kafka_resp_err_t code = rd_kafka_last_error();
    if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) failCall("rd_kafka_produce", rd_kafka_err2str(code));
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

/// Takes available records while a transaction is open, or waits for its first record.
static ssize_t takeMessages(rd_kafka_queue_t *queue, int isOpen, int wait, rd_kafka_message_t **messages) {
  if (isOpen) return rd_kafka_consume_batch_queue(queue, wait, messages, batchSize);
  ssize_t count = rd_kafka_consume_batch_queue(queue, 0, messages, batchSize);
  return count ? count : rd_kafka_consume_batch_queue(queue, wait, messages, 1);
}

static void *run(void *argument) {
  struct Loop *loop = argument;
  if (loop->options.address) {
    makeProducer(loop);
    makeConsumer(loop);
  } else {
    connectToMock(loop);
    fprintf(stderr, "ready\n");
  }
  int isReady = !loop->options.address;
  static rd_kafka_message_t *messages[batchSize];
  rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(loop->consumer);
  int isOpen = 0;
  long long windowEnd = 0;
  while (!hasEnded) {
    long long left = windowEnd - now();
    int wait = !isOpen ? idleMilliseconds : left > 0 ? (int)left : 0;
    ssize_t count = takeMessages(queue, isOpen, wait, messages);
    if (!isReady && hasPartitions(loop)) {
      isReady = 1;
      fprintf(stderr, "ready\n");
    }
    for (ssize_t index = 0; index < count; index++) {
      rd_kafka_message_t *message = messages[index];
      checkCode(message->err, "rd_kafka_consume_batch_queue");
      if (!isOpen) {
        check(rd_kafka_begin_transaction(loop->producer), "rd_kafka_begin_transaction");
        isOpen = 1;
        windowEnd = now() + loop->options.windowMilliseconds;
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

static const char *startMock(const struct BareLoopOptions *options) {
  rd_kafka_t *host = makeClient(RD_KAFKA_PRODUCER, NULL, NULL);
  rd_kafka_mock_cluster_t *broker = rd_kafka_mock_cluster_new(host, 1);
  if (!broker) failCall("rd_kafka_mock_cluster_new", "no broker");
  checkCode(rd_kafka_mock_topic_create(broker, options->input, partitionCount, 1), options->input);
  checkCode(rd_kafka_mock_topic_create(broker, options->output, partitionCount, 1), options->output);
  const char *address = rd_kafka_mock_cluster_bootstraps(broker);
  printf("%s\n", address);
  fflush(stdout);
  return address;
}

int runBareLoop(struct BareLoopOptions options) {
  signal(SIGTERM, end);
  // The parent may have blocked the signals, as the threads of Swift's tasks do.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
  struct Loop loop = {.options = options, .address = options.address ? options.address : startMock(&options)};
  loop.offsets = rd_kafka_topic_partition_list_new(partitionCount);
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, &loop)) failCall("pthread_create", "no thread");
  pthread_setname_np(thread, "worker-0");
  pthread_join(thread, NULL);
  fprintf(stderr, "records %ld\ntransactions %ld\n", loop.records, loop.transactions);
  // The process releases everything.
  return 0;
}
