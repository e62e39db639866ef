#ifndef FEEDSTORE_CBUILD_H
#define FEEDSTORE_CBUILD_H

// The commit that this program was built from; "unknown" if the build did not say.
const char *feedstore_commit(void);

#endif
