#ifndef FEEDSTORE_CMICROHTTPD_SHIM_H
#define FEEDSTORE_CMICROHTTPD_SHIM_H

// Swift cannot import libmicrohttpd's variadic functions. It calls all others directly.

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

// The options of a daemon.
typedef struct feedstore_http_options_s {
  unsigned int threads;
  // The limit over all threads.
  unsigned int connection_limit;
  size_t connection_memory_bytes;
  unsigned int timeout_seconds;
  // Passed to each callback.
  void *owner;
  MHD_AccessHandlerCallback on_request;
  MHD_RequestCompletedCallback on_completion;
  MHD_NotifyConnectionCallback on_connection;
  // PEM texts, which are copied. NULL for plain HTTP; the authority is NULL if clients need no certificate.
  const char *certificate;
  const char *key;
  const char *client_authority;
} feedstore_http_options_t;

// Why certificate, key or authorities are unusable: GnuTLS's code, 0 if they are usable, and which part: 0 for
// certificate and key, 1 for the authorities.
typedef struct feedstore_tls_fault_s {
  int code;
  int part;
} feedstore_tls_fault_t;

static inline feedstore_tls_fault_t feedstore_tls_check(
    const char *certificate, const char *key, const char *client_authority) {
  feedstore_tls_fault_t fault = {0, 0};
  gnutls_certificate_credentials_t credentials;
  fault.code = gnutls_certificate_allocate_credentials(&credentials);
  if (fault.code < 0) return fault;
  gnutls_datum_t certificate_pem = {(unsigned char *)certificate, (unsigned int)__builtin_strlen(certificate)};
  gnutls_datum_t key_pem = {(unsigned char *)key, (unsigned int)__builtin_strlen(key)};
  fault.code = gnutls_certificate_set_x509_key_mem(credentials, &certificate_pem, &key_pem, GNUTLS_X509_FMT_PEM);
  if (fault.code >= 0 && client_authority != NULL) {
    gnutls_datum_t pem = {(unsigned char *)client_authority, (unsigned int)__builtin_strlen(client_authority)};
    fault.part = 1;
    fault.code = gnutls_certificate_set_x509_trust_mem(credentials, &pem, GNUTLS_X509_FMT_PEM);
    if (fault.code == 0) fault.code = GNUTLS_E_NO_CERTIFICATE_FOUND;
  }
  gnutls_certificate_free_credentials(credentials);
  if (fault.code > 0) fault.code = 0;
  return fault;
}

// The earliest end of the certificates in a PEM text, in seconds since 1970; -1 if it has none.
static inline long long feedstore_tls_end(const char *pem) {
  gnutls_datum_t text = {(unsigned char *)pem, (unsigned int)__builtin_strlen(pem)};
  gnutls_x509_crt_t *list = NULL;
  unsigned int count = 0;
  long long end = -1;
  if (gnutls_x509_crt_list_import2(&list, &count, &text, GNUTLS_X509_FMT_PEM, 0) < 0) return -1;
  for (unsigned int index = 0; index < count; index++) {
    long long own = (long long)gnutls_x509_crt_get_expiration_time(list[index]);
    if (own >= 0 && (end < 0 || own < end)) end = own;
    gnutls_x509_crt_deinit(list[index]);
  }
  gnutls_free(list);
  return end;
}

static inline const char *feedstore_tls_error(int code) { return gnutls_strerror(code); }

// The number of connections in all threads of a daemon.
static inline unsigned int feedstore_http_connection_count(struct MHD_Daemon *daemon) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
  return info == NULL ? 0 : info->num_connections;
}

// Leaves percent-encoding in place: a path must be split before its segments are decoded.
static inline size_t feedstore_http_keep_escapes(
    void *owner, struct MHD_Connection *connection, char *text) {
  (void)owner;
  (void)connection;
  size_t count = 0;
  while (text[count] != 0) count++;
  return count;
}

// Starts threads that serve the connections they are given with epoll. Returns NULL on failure.
static inline struct MHD_Daemon *feedstore_http_start(const feedstore_http_options_t *options) {
  struct MHD_OptionItem tls[5];
  unsigned int count = 0;
  unsigned int flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET;
  if (options->certificate != NULL) {
    flags |= MHD_USE_TLS;
    tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)options->certificate};
    tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)options->key};
    tls[count++] = (struct MHD_OptionItem){
        MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
    if (options->client_authority != NULL)
      tls[count++] = (struct MHD_OptionItem){MHD_OPTION_HTTPS_MEM_TRUST, 0, (void *)options->client_authority};
  }
  tls[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
  return MHD_start_daemon(
      flags, 0, NULL, NULL, options->on_request,
      options->owner,
      MHD_OPTION_ARRAY, tls,
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

// Whether the client has presented a certificate of a configured authority.
static inline int feedstore_http_client_is_trusted(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (info == NULL || info->tls_session == NULL) return 0;
  unsigned int status = 0;
  if (gnutls_certificate_verify_peers2((gnutls_session_t)info->tls_session, &status) != GNUTLS_E_SUCCESS) return 0;
  return status == 0;
}

// The address of the client; NULL if unknown.
static inline const struct sockaddr *feedstore_http_client_address(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  return info == NULL ? NULL : info->client_addr;
}

// The socket context that was set when the connection started; NULL if there is none.
static inline void *feedstore_http_socket_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info == NULL ? NULL : info->socket_context;
}

// The connection's socket, owned by libmicrohttpd; -1 if unknown.
static inline MHD_socket feedstore_http_socket(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
  return info == NULL ? -1 : info->connect_fd;
}

#endif
