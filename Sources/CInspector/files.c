#include "CInspector.h"

#include <string.h>

// The files of web/, and of clients/js in web/client, compiled into the program so that it needs no files at run time. They are
// embedded in C, where #embed costs no compile time; a byte array in Swift takes half a minute to compile.
#pragma clang diagnostic ignored "-Wc23-extensions"

// Each file ends with a zero byte, which none of them contains.
static const unsigned char contents[] = {
#embed "../../web/index.html" suffix(, 0, )
#embed "../../web/inspector.css" suffix(, 0, )
#embed "../../web/inspector.js" suffix(, 0, )
#embed "../../web/api.js" suffix(, 0, )
#embed "../../web/dom.js" suffix(, 0, )
#embed "../../web/edits.js" suffix(, 0, )
#embed "../../web/explain.js" suffix(, 0, )
#embed "../../web/feed-list.js" suffix(, 0, )
#embed "../../web/feed-grid.js" suffix(, 0, )
#embed "../../web/followed-window.js" suffix(, 0, )
#embed "../../web/format.js" suffix(, 0, )
#embed "../../web/item-editor.js" suffix(, 0, )
#embed "../../web/rows.js" suffix(, 0, )
#embed "../../web/shown-feed.js" suffix(, 0, )
#embed "../../web/status.js" suffix(, 0, )
#embed "../../web/timeline.js" suffix(, 0, )
#embed "../../web/client/apply.js" suffix(, 0, )
#embed "../../web/client/connection.js" suffix(, 0, )
#embed "../../web/client/draft.js" suffix(, 0, )
#embed "../../web/client/event-stream.js" suffix(, 0, )
#embed "../../web/client/feed-stream.js" suffix(, 0, )
#embed "../../web/client/feed.js" suffix(, 0, )
#embed "../../web/client/followed-feed.js" suffix(, 0, )
#embed "../../web/client/index.js" suffix(, 0, )
#embed "../../web/client/persist.js" suffix(, 0, )
#embed "../../web/client/poll.js" suffix(, 0, )
#embed "../../web/client/replica/changeset.js" suffix(, 0, )
#embed "../../web/client/replica/checksum.js" suffix(, 0, )
#embed "../../web/client/replica/difference.js" suffix(, 0, )
#embed "../../web/client/replica/elements.js" suffix(, 0, )
#embed "../../web/client/replica/fault.js" suffix(, 0, )
#embed "../../web/client/replica/feed-state.js" suffix(, 0, )
#embed "../../web/client/replica/json-text.js" suffix(, 0, )
#embed "../../web/client/replica/plain-replica.js" suffix(, 0, )
#embed "../../web/client/replica/xxh32.js" suffix(, 0, )
#embed "../../web/client/shared-connection.js" suffix(, 0, )
#embed "../../web/client/store.js" suffix(, 0, )
#embed "../../web/client/tokens.js" suffix(, 0, )
#embed "../../web/client/view.js" suffix(, 0, )
#embed "../../web/client/write-request.js" suffix(, 0, )
#embed "../../web/client/writes.js" suffix(, 0, )
};

// In the same order.
static const char *const names[] = {
    "index.html", "inspector.css", "inspector.js", "api.js", "dom.js", "edits.js", "explain.js", "feed-list.js", "feed-grid.js",
    "followed-window.js", "format.js", "item-editor.js", "rows.js", "shown-feed.js", "status.js", "timeline.js",
    "client/apply.js", "client/connection.js", "client/draft.js", "client/event-stream.js", "client/feed-stream.js",
    "client/feed.js", "client/followed-feed.js", "client/index.js", "client/persist.js", "client/poll.js",
    "client/replica/changeset.js", "client/replica/checksum.js", "client/replica/difference.js", "client/replica/elements.js",
    "client/replica/fault.js", "client/replica/feed-state.js", "client/replica/json-text.js", "client/replica/plain-replica.js",
    "client/replica/xxh32.js", "client/shared-connection.js", "client/store.js", "client/tokens.js", "client/view.js",
    "client/write-request.js", "client/writes.js",
};

const char *feedstore_inspector_file(size_t index, const unsigned char **content, size_t *size) {
  if (index >= sizeof names / sizeof names[0]) return NULL;
  *content = contents;
  for (size_t passed = 0; passed < index; passed++) *content += strlen((const char *)*content) + 1;
  *size = strlen((const char *)*content);
  return names[index];
}
