#include "CInspector.h"

// The files of web/ and two of clients/js, compiled into the program so that it needs no files at run time. They are embedded in C, where
// #embed costs no compile time; a byte array in Swift takes half a minute to compile.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../../web/index.html"
};
static const unsigned char inspector_css[] = {
#embed "../../web/inspector.css"
};
static const unsigned char inspector_js[] = {
#embed "../../web/inspector.js"
};
static const unsigned char api_js[] = {
#embed "../../web/api.js"
};
static const unsigned char dom_js[] = {
#embed "../../web/dom.js"
};
static const unsigned char edits_js[] = {
#embed "../../web/edits.js"
};
static const unsigned char event_stream_js[] = {
#embed "../../clients/js/src/event-stream.js"
};
static const unsigned char explain_js[] = {
#embed "../../web/explain.js"
};
static const unsigned char feed_follower_js[] = {
#embed "../../web/feed-follower.js"
};
static const unsigned char feed_list_js[] = {
#embed "../../web/feed-list.js"
};
static const unsigned char feed_view_js[] = {
#embed "../../web/feed-view.js"
};
static const unsigned char format_js[] = {
#embed "../../web/format.js"
};
static const unsigned char item_editor_js[] = {
#embed "../../web/item-editor.js"
};
static const unsigned char replica_js[] = {
#embed "../../clients/js/src/replica.js"
};
static const unsigned char rows_js[] = {
#embed "../../web/rows.js"
};
static const unsigned char shown_feed_js[] = {
#embed "../../web/shown-feed.js"
};
static const unsigned char status_js[] = {
#embed "../../web/status.js"
};
static const unsigned char timeline_js[] = {
#embed "../../web/timeline.js"
};

#define FILE_OF(name, type, bytes) {name, type, bytes, sizeof bytes}
#define MODULE(name, bytes) FILE_OF(name, "text/javascript; charset=utf-8", bytes)

static const feedstore_inspector_file_t files[] = {
    FILE_OF("index.html", "text/html; charset=utf-8", index_html),
    FILE_OF("inspector.css", "text/css; charset=utf-8", inspector_css),
    MODULE("inspector.js", inspector_js),
    MODULE("api.js", api_js),
    MODULE("dom.js", dom_js),
    MODULE("edits.js", edits_js),
    MODULE("event-stream.js", event_stream_js),
    MODULE("explain.js", explain_js),
    MODULE("feed-follower.js", feed_follower_js),
    MODULE("feed-list.js", feed_list_js),
    MODULE("feed-view.js", feed_view_js),
    MODULE("format.js", format_js),
    MODULE("item-editor.js", item_editor_js),
    MODULE("replica.js", replica_js),
    MODULE("rows.js", rows_js),
    MODULE("shown-feed.js", shown_feed_js),
    MODULE("status.js", status_js),
    MODULE("timeline.js", timeline_js),
};

const feedstore_inspector_file_t *feedstore_inspector_file(size_t index) {
  return index < sizeof files / sizeof files[0] ? &files[index] : NULL;
}
