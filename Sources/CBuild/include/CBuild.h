#ifndef FEEDSTORE_CBUILD_H
#define FEEDSTORE_CBUILD_H

// The commit of this build, or "unknown".
const char *feedstore_commit(void);

#endif
