#include "CSimdjson.h"

#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace {

bool is_same(const uint8_t *left, const uint8_t *right, size_t count) { return std::memcmp(left, right, count) == 0; }

bool is_digit(uint8_t byte) { return uint8_t(byte - '0') < 10; }

/// The end of a plain integer; null if there is something else. It is before the text's last byte, a bracket.
__attribute__((always_inline)) inline const uint8_t *end_of_integer(const uint8_t *at) {
  if (uint8_t(*at - '1') >= 9) return nullptr;
  while (is_digit(*++at)) {}
  return *at == '.' || (*at | 0x20) == 'e' ? nullptr : at;
}

/// Reads by blocks of a width.
///
/// - `mark`: marks a block.
/// - `begins`: whether a block begins with a piece, or is the beginning of a longer one.
/// - `ends`: the same for a piece that is not longer than what is left of a text, which is less than a block.
template <size_t Width, typename Mark, typename Begins, typename Ends>
__attribute__((always_inline)) inline void pass(
    const feedstore_shape_piece *pieces, size_t piece_count, const uint8_t *bytes, size_t count,
    feedstore_shape_match *match, uint32_t *places, Mark mark, Begins begins, Ends ends) {
  const feedstore_shape_piece *piece = pieces + match->piece, *const last_piece = pieces + (piece_count - 1);
  const uint8_t *at = bytes + match->at, *const end = bytes + count, *const last_block = end - Width;
  uint32_t *place = places + match->piece;
  uint64_t not_ascii = match->not_ascii;
  while (true) {
    const bool is_next = at <= last_block
        ? begins(at, piece) &&
            (piece->count <= Width ||
             (piece->count <= size_t(end - at) && is_same(at + Width, piece->bytes + Width, piece->count - Width)))
        : piece->count <= size_t(end - at) && ends(end, at, piece);
    if (!is_next) {
      // Nothing more is sought behind an integer: two of them are none.
      if (piece->gap == feedstore_shape_scalar) at = end;
      break;
    }
    *place++ = uint32_t(at - bytes);
    at += piece->count;
    if (piece++ == last_piece) break;
    if (piece->gap == feedstore_shape_scalar) {
      const uint8_t *const behind = at < end ? end_of_integer(at) : nullptr;
      if (!behind) break;
      at = behind;
      continue;
    }
    // The quote that ends the string, or an escape.
    uint64_t stops = 0;
    for (; at <= last_block; at += Width) {
      const feedstore_json_marks marks = mark(at);
      not_ascii |= marks.not_ascii;
      stops = marks.stops;
      if (stops) break;
    }
    if (!stops) {
      // The last block, without what is before this place.
      const feedstore_json_marks marks = mark(last_block);
      not_ascii |= marks.not_ascii;
      stops = marks.stops >> (at - last_block);
      if (!stops) {
        at = end;
        break;
      }
    }
    at += __builtin_ctzll(stops);
  }
  *match = {size_t(piece - pieces), size_t(at - bytes), not_ascii};
}

#ifdef __x86_64__
__attribute__((target("avx2,bmi"))) feedstore_json_marks mark32(const uint8_t *bytes) {
  const __m256i text = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes));
  const __m256i stops = _mm256_or_si256(
      _mm256_or_si256(
          _mm256_cmpeq_epi8(text, _mm256_set1_epi8('"')), _mm256_cmpeq_epi8(text, _mm256_set1_epi8('\\'))),
      _mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(0x1F)), text));
  return {uint32_t(_mm256_movemask_epi8(stops)), uint32_t(_mm256_movemask_epi8(text))};
}

__attribute__((target("avx2,bmi"))) uint32_t differences32(const uint8_t *left, const uint8_t *right) {
  return ~uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(
      _mm256_loadu_si256(reinterpret_cast<const __m256i *>(left)),
      _mm256_loadu_si256(reinterpret_cast<const __m256i *>(right)))));
}

__attribute__((target("avx2,bmi"))) bool begins32(const uint8_t *at, const feedstore_shape_piece *piece) {
  return (differences32(at, piece->bytes) & piece->first_bits) == 0;
}

__attribute__((target("avx2,bmi"))) bool ends32(
    const uint8_t *end, const uint8_t *at, const feedstore_shape_piece *piece) {
  const uint8_t *const block = end - 32;
  return (differences32(block, piece->bytes - (at - block)) >> (at - block) & piece->first_bits) == 0;
}

__attribute__((target("avx2,bmi"))) void pass_with_avx2(
    const feedstore_shape_piece *pieces, size_t piece_count, const uint8_t *bytes, size_t count,
    feedstore_shape_match *match, uint32_t *places) {
  pass<32>(pieces, piece_count, bytes, count, match, places, mark32, begins32, ends32);
}
#endif

bool begins16(const uint8_t *at, const feedstore_shape_piece *piece) {
  return is_same(at, piece->bytes, piece->count < 16 ? piece->count : 16);
}

bool ends16(const uint8_t *, const uint8_t *at, const feedstore_shape_piece *piece) {
  return is_same(at, piece->bytes, piece->count);
}

__attribute__((noinline)) void pass_portably(
    const feedstore_shape_piece *pieces, size_t piece_count, const uint8_t *bytes, size_t count,
    feedstore_shape_match *match, uint32_t *places) {
  pass<16>(pieces, piece_count, bytes, count, match, places, feedstore_json_mark16, begins16, ends16);
}

bool has_avx2() {
#ifdef __x86_64__
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi");
#else
  return false;
#endif
}

const bool uses_avx2 = has_avx2();

}

extern "C" void feedstore_shape_pass(
    const feedstore_shape_piece *pieces, size_t piece_count, const uint8_t *bytes, size_t count,
    feedstore_shape_match *match, uint32_t *places) {
#ifdef __x86_64__
  if (uses_avx2 && count >= 32) return pass_with_avx2(pieces, piece_count, bytes, count, match, places);
#endif
  pass_portably(pieces, piece_count, bytes, count, match, places);
}
