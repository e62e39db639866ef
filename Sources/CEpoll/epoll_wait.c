#define _GNU_SOURCE
#include "CEpoll.h"

// The process's epoll_wait, also for libraries: it reports at most 127 events.
//
// libmicrohttpd 0.9.28 to 1.0.10 asks for 128. If it receives as many, it waits for more before it serves any of them, perhaps
// for ever. See docs/libmicrohttpd.md.
int epoll_wait(int epoll, struct epoll_event *events, int capacity, int timeout_milliseconds) {
  return epoll_pwait(epoll, events, capacity < 128 ? capacity : 127, timeout_milliseconds, 0);
}
