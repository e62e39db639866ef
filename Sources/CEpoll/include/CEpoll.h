#ifndef FEEDSTORE_CEPOLL_H
#define FEEDSTORE_CEPOLL_H

// Functions that Swift's glibc module lacks. The functions are wrapped because `struct epoll_event` is packed
// on some architectures, and its content is a union.

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// Reports this number once when a socket's peer ends, and optionally whenever a full socket has room again
// (edge-triggered). Returns 0, or -1 with errno set.
static inline int feedstore_epoll_watch_end(int epoll, int descriptor, uint64_t number, int also_room) {
  uint32_t wanted = also_room ? EPOLLRDHUP | EPOLLOUT | EPOLLET : EPOLLRDHUP | EPOLLONESHOT;
  struct epoll_event event = {.events = wanted, .data = {.u64 = number}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// Reports this number as long as there is input (level-triggered). Returns 0, or -1 with errno set.
static inline int feedstore_epoll_watch_input(int epoll, int descriptor, uint64_t number) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = number}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// Reports this number whenever new input arrives or the peer ends (edge-triggered). Returns 0, or -1 with errno set.
static inline int feedstore_epoll_watch_news(int epoll, int descriptor, uint64_t number) {
  struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data = {.u64 = number}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event);
}

// Waits for events, and stores their numbers. Returns their count, or -1 with errno set.
static inline int feedstore_epoll_wait(
    int epoll, uint64_t *numbers, int capacity, int timeout_milliseconds) {
  struct epoll_event events[64];
  if (capacity > 64) capacity = 64;
  int count = epoll_wait(epoll, events, capacity, timeout_milliseconds);
  for (int i = 0; i < count; i++) numbers[i] = events[i].data.u64;
  return count;
}

#endif
