#include "CBuild.h"

#define TEXT_OF(tokens) #tokens
#define TEXT(macro) TEXT_OF(macro)

// Package.swift defines it from the environment, for this file only, so that a new commit recompiles nothing else.
#ifndef FEEDSTORE_COMMIT
#define FEEDSTORE_COMMIT unknown
#endif

const char *feedstore_commit(void) { return TEXT(FEEDSTORE_COMMIT); }
