#include "CSimdjson.h"

#include <algorithm>
#include <memory>
#include <new>

#include <simdjson.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace {

/// The process's kernel: the best that the processor has, or what SIMDJSON_FORCE_IMPLEMENTATION names.
/// A name that means nothing here is passed over: simdjson would then take every text for invalid.
const simdjson::implementation &process_kernel() {
  static const simdjson::implementation &kernel = []() -> const simdjson::implementation & {
    const auto &kernels = simdjson::get_available_implementations();
    // To ask for the name makes simdjson choose.
    const auto *chosen = kernels[simdjson::get_active_implementation()->name()];
    return chosen && chosen->supported_by_runtime_system() ? *chosen : *kernels.detect_best_supported();
  }();
  return kernel;
}

bool is_utf8(const simdjson::implementation &kernel, const uint8_t *bytes, size_t count) {
  return count == 0 || kernel.validate_utf8(reinterpret_cast<const char *>(bytes), count);
}

#ifdef __x86_64__
__attribute__((target("avx2"))) feedstore_json_marks mark64_with_avx2(const uint8_t *bytes) {
  const __m256i quote = _mm256_set1_epi8('"'), backslash = _mm256_set1_epi8('\\'), control = _mm256_set1_epi8(0x1F);
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(bytes + 32));
  const __m256i low_stops = _mm256_or_si256(
      _mm256_or_si256(_mm256_cmpeq_epi8(low, quote), _mm256_cmpeq_epi8(low, backslash)),
      _mm256_cmpeq_epi8(_mm256_min_epu8(low, control), low));
  const __m256i high_stops = _mm256_or_si256(
      _mm256_or_si256(_mm256_cmpeq_epi8(high, quote), _mm256_cmpeq_epi8(high, backslash)),
      _mm256_cmpeq_epi8(_mm256_min_epu8(high, control), high));
  return {
      uint32_t(_mm256_movemask_epi8(low_stops)) | uint64_t(uint32_t(_mm256_movemask_epi8(high_stops))) << 32,
      uint32_t(_mm256_movemask_epi8(_mm256_or_si256(low, high)))};
}
#endif

feedstore_json_marks mark64_portably(const uint8_t *bytes) { return feedstore_json_mark64_portably(bytes); }

/// Marks 64 bytes of a text from a place within it, or as many as are left.
template <typename Mark64>
__attribute__((always_inline)) inline feedstore_json_marks mark_at_place(
    const uint8_t *bytes, size_t start, size_t count, Mark64 mark64) {
  if (count - start >= 64) return mark64(bytes + start);
  if (count >= 64) {
    // The last 64 bytes, without those before this place.
    const feedstore_json_marks marks = mark64(bytes + (count - 64));
    return {marks.stops >> (64 - (count - start)), marks.not_ascii};
  }
  // A short text by blocks, the last of which overlaps the one before.
  feedstore_json_marks all = {0, 0};
  for (size_t place = 0;; place = std::min(place + 16, count - 16)) {
    const feedstore_json_marks marks = feedstore_json_mark16(bytes + place);
    all.stops |= marks.stops << place;
    all.not_ascii |= marks.not_ascii;
    if (place + 16 >= count) return all;
  }
}

#ifdef __x86_64__
__attribute__((target("avx2"))) feedstore_json_marks mark_at_with_avx2(const uint8_t *bytes, size_t start, size_t count) {
  return mark_at_place(bytes, start, count, mark64_with_avx2);
}
#endif

feedstore_json_marks mark_at_portably(const uint8_t *bytes, size_t start, size_t count) {
  return mark_at_place(bytes, start, count, mark64_portably);
}

using marking = feedstore_json_marks (*)(const uint8_t *, size_t, size_t);

marking choose_marking() {
#ifdef __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return mark_at_with_avx2;
#endif
  return mark_at_portably;
}

const marking mark_at = choose_marking();

}

// Only simdjson's first stage is used. It checks UTF-8 and finds the structure at the speed of
// memory; its parsers are not: On-Demand does not validate what it does not visit, and the DOM
// loses the spelling of numbers. The grammar is checked by a walk over this index, in Swift.
struct feedstore_json_indexer {
  const simdjson::implementation &kernel;
  /// Whether the first stage relies on the text being UTF-8, as simdjson's portable one does: it reads a byte past
  /// a text that ends in the middle of a character, and looks at no character outside strings.
  const bool needs_utf8;
  std::unique_ptr<simdjson::internal::dom_parser_implementation> implementation;
  size_t capacity = 0;

  explicit feedstore_json_indexer(const simdjson::implementation &kernel)
      : kernel(kernel), needs_utf8(kernel.name() == "fallback") {}

  simdjson::error_code reserve(size_t count) {
    if (implementation && count <= capacity) return simdjson::SUCCESS;
    size_t wanted = std::max<size_t>(count, 4096);
    if (implementation) wanted = std::max(wanted, std::min<size_t>(capacity * 2, 1 << 24));
    wanted = std::min<size_t>(wanted, simdjson::SIMDJSON_MAXSIZE_BYTES);
    // The stages share one allocation for open containers, which the first stage never uses.
    auto error = kernel.create_dom_parser_implementation(wanted, 1, implementation);
    capacity = error ? 0 : wanted;
    return error;
  }
};

extern "C" {

const char *feedstore_json_kernel(size_t number) {
  for (const auto *kernel : simdjson::get_available_implementations())
    if (kernel->supported_by_runtime_system() && number-- == 0) return kernel->name().c_str();
  return nullptr;
}

feedstore_json_indexer *feedstore_json_indexer_create(const char *name) {
  const auto *kernel = name ? simdjson::get_available_implementations()[name] : &process_kernel();
  return kernel ? new (std::nothrow) feedstore_json_indexer(*kernel) : nullptr;
}

void feedstore_json_indexer_destroy(feedstore_json_indexer *indexer) { delete indexer; }

feedstore_json_status feedstore_json_index(
    feedstore_json_indexer *indexer, const uint8_t *bytes, size_t count,
    const uint32_t **offsets, size_t *offset_count) {
  *offsets = nullptr;
  *offset_count = 0;
  if (count == 0) return feedstore_json_empty;
  if (count > simdjson::SIMDJSON_MAXSIZE_BYTES || indexer->reserve(count))
    return feedstore_json_capacity;
  if (indexer->needs_utf8 && !is_utf8(indexer->kernel, bytes, count)) return feedstore_json_invalid_utf8;
  auto error =
      indexer->implementation->stage1(bytes, count, simdjson::stage1_mode::regular);
  if (error) {
    // simdjson reports an open string before bad UTF-8; the caller wants to know about UTF-8 first.
    if (!indexer->needs_utf8 && !is_utf8(indexer->kernel, bytes, count)) return feedstore_json_invalid_utf8;
    return error == simdjson::EMPTY ? feedstore_json_empty : feedstore_json_invalid_string;
  }
  *offset_count = indexer->implementation->n_structural_indexes;
  // The list has room for more than a text can have.
  indexer->implementation->structural_indexes[*offset_count] = uint32_t(count);
  *offsets = indexer->implementation->structural_indexes.get();
  return feedstore_json_ok;
}

void feedstore_json_indexer_trim(feedstore_json_indexer *indexer, size_t keep_capacity) {
  if (indexer->capacity <= keep_capacity) return;
  indexer->implementation.reset();
  indexer->capacity = 0;
}

feedstore_json_marks feedstore_json_mark_at(const uint8_t *bytes, size_t start, size_t count) {
  return mark_at(bytes, start, count);
}

bool feedstore_json_is_utf8(const uint8_t *bytes, size_t count) { return is_utf8(process_kernel(), bytes, count); }

}
