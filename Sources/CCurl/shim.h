#ifndef FEEDSTORE_CCURL_SHIM_H
#define FEEDSTORE_CCURL_SHIM_H

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

// A part of a response, which the caller frees.
typedef struct feedstore_http_part_s {
  char *bytes;
  size_t size, most;
} feedstore_http_part_t;

static inline size_t feedstore_http_append(char *bytes, size_t one, size_t size, void *opaque) {
  feedstore_http_part_t *part = (feedstore_http_part_t *)opaque;
  if (size > part->most - part->size) return 0;
  char *grown = (char *)realloc(part->bytes, part->size + size + 1);
  if (grown == NULL) return 0;
  part->bytes = grown;
  memcpy(grown + part->size, bytes, one * size);
  part->size += size;
  return size;
}

// One GET request over a connection of its own, without redirects and proxies; in C, because curl_easy_setopt is variadic.
// Credentials are "user:password", or NULL. Authorities are the path of a file, or NULL for the system's. Returns curl's code,
// the response's status, and the URL of a redirect, which the caller frees, or NULL.
static inline CURLcode feedstore_http_get(
    const char *url, const struct curl_slist *fields, const char *credentials, const char *authorities,
    long milliseconds, feedstore_http_part_t *head, feedstore_http_part_t *body, long *status,
    char **redirect) {
  CURL *curl = curl_easy_init();
  if (curl == NULL) return CURLE_FAILED_INIT;
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, milliseconds);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
  if (credentials != NULL) curl_easy_setopt(curl, CURLOPT_USERPWD, credentials);
  if (authorities != NULL) curl_easy_setopt(curl, CURLOPT_CAINFO, authorities);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, feedstore_http_append);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, head);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, feedstore_http_append);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, body);
  CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, status);
  char *next = NULL;
  curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &next);
  *redirect = next == NULL ? NULL : strdup(next);
  curl_easy_cleanup(curl);
  return code;
}

#endif
