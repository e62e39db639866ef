#ifndef FEEDSTORE_CMICROHTTPD_SHIM_H
#define FEEDSTORE_CMICROHTTPD_SHIM_H

// What Swift cannot import from libmicrohttpd: variadic functions. Everything else is called from Swift as
// it is.

#include <microhttpd.h>

// What a daemon is told.
typedef struct feedstore_http_options_s {
  unsigned int threads;
  // Of all threads together; each may have its share.
  unsigned int connection_limit;
  size_t connection_memory_bytes;
  unsigned int timeout_seconds;
  // Handed to each of the callbacks.
  void *owner;
  MHD_AccessHandlerCallback on_request;
  MHD_RequestCompletedCallback on_completion;
  MHD_NotifyConnectionCallback on_connection;
} feedstore_http_options_t;

// Leaves everything percent-encoded, as a path must be taken apart before its parts are decoded.
static inline size_t feedstore_http_keep_escapes(
    void *owner, struct MHD_Connection *connection, char *text) {
  (void)owner;
  (void)connection;
  size_t count = 0;
  while (text[count] != 0) count++;
  return count;
}

// Starts threads with epoll that serve the connections they are given. NULL if that is not possible.
static inline struct MHD_Daemon *feedstore_http_start(const feedstore_http_options_t *options) {
  return MHD_start_daemon(
      MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, options->on_request,
      options->owner,
      MHD_OPTION_THREAD_POOL_SIZE, options->threads > 1 ? options->threads : 0u,
      MHD_OPTION_CONNECTION_LIMIT, options->connection_limit,
      MHD_OPTION_STRICT_FOR_CLIENT, 1,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, options->connection_memory_bytes,
      MHD_OPTION_CONNECTION_TIMEOUT, options->timeout_seconds,
      MHD_OPTION_NOTIFY_COMPLETED, options->on_completion, options->owner,
      MHD_OPTION_NOTIFY_CONNECTION, options->on_connection, options->owner,
      MHD_OPTION_UNESCAPE_CALLBACK, &feedstore_http_keep_escapes, NULL,
      MHD_OPTION_END);
}

// The address of the client; NULL if it is not known.
static inline const struct sockaddr *feedstore_http_client_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}

// What the connection's start left in its socket context; NULL if nothing.
static inline void *feedstore_http_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

// The connection's socket, which is libmicrohttpd's; -1 if it is not known.
static inline MHD_socket feedstore_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

#endif
