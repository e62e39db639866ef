#ifndef FEEDSTORE_CTEXTMARKS_SHIM_H
#define FEEDSTORE_CTEXTMARKS_SHIM_H

#include <stdint.h>
#include <string.h>

// Marks bytes of a JSON text, one bit for each of 64, bit 0 for the first. In C, because Swift's vectors cannot be
// turned into bits; clang compiles this to the processor's instructions.
typedef struct {
  // Quotes, backslashes and control characters: the special bytes in a string.
  uint64_t stops;
  // Nonzero if a byte is not ASCII.
  uint64_t not_ascii;
} feedstore_marks;

typedef unsigned char feedstore_block __attribute__((ext_vector_type(64)));
typedef _Bool feedstore_bits __attribute__((ext_vector_type(64)));

static inline feedstore_marks feedstore_mark64(const uint8_t *bytes) {
  feedstore_block text;
  memcpy(&text, bytes, sizeof text);
  feedstore_bits stops = __builtin_convertvector((text == '"') | (text == '\\') | (text < ' '), feedstore_bits);
  unsigned char quarter __attribute__((ext_vector_type(16))) = text.lo.lo | text.lo.hi | text.hi.lo | text.hi.hi;
  _Bool not_ascii __attribute__((ext_vector_type(16))) =
      __builtin_convertvector(quarter >= 0x80, _Bool __attribute__((ext_vector_type(16))));
  feedstore_marks marks;
  memcpy(&marks.stops, &stops, sizeof marks.stops);
  marks.not_ascii = 0;
  memcpy(&marks.not_ascii, &not_ascii, 2);
  return marks;
}

#endif
