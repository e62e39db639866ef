#include "CDemoHistory.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char history[] = {
#embed "../../examples/history.ndjson"
};

const unsigned char *feedstore_demo_history(size_t *size) {
  *size = sizeof history;
  return history;
}
