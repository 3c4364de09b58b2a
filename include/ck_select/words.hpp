/* Numbers of the C interface as enums, and the words that files and kernel names have for them. */

#ifndef CK_SELECT_WORDS_HPP
#define CK_SELECT_WORDS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../ck_select.h"
#include "vocabularies.hpp"

namespace ck_select {

/// The result of a call. Later libraries may return values that are not listed here.
enum class Status : std::int32_t {
  ok = CK_STATUS_OK,
  null_pointer = CK_STATUS_NULL_POINTER,
  invalid_argument = CK_STATUS_INVALID_ARGUMENT,
  invalid_struct = CK_STATUS_INVALID_STRUCT,
  not_utf8 = CK_STATUS_NOT_UTF8,
  invalid_problem = CK_STATUS_INVALID_PROBLEM,
  invalid_kernel = CK_STATUS_INVALID_KERNEL,
  already_registered = CK_STATUS_ALREADY_REGISTERED,
  not_found = CK_STATUS_NOT_FOUND,
  no_kernel = CK_STATUS_NO_KERNEL,
  override_failed = CK_STATUS_OVERRIDE_FAILED,
  invalid_model = CK_STATUS_INVALID_MODEL,
  no_model = CK_STATUS_NO_MODEL,
  io = CK_STATUS_IO,
  buffer_too_small = CK_STATUS_BUFFER_TOO_SMALL,
  panic = CK_STATUS_PANIC,
  cannot_measure = CK_STATUS_CANNOT_MEASURE,
};

enum class Target : std::int32_t {
  tflops = CK_TARGET_TFLOPS,
  latency = CK_TARGET_LATENCY,
  bandwidth = CK_TARGET_BANDWIDTH,
  relative = CK_TARGET_RELATIVE,
};

enum class Mode : std::int32_t {
  model = CK_MODE_MODEL,
  search = CK_MODE_SEARCH,
  refine = CK_MODE_REFINE,
  priority = CK_MODE_PRIORITY,
};

enum class Source : std::int32_t {
  override_file = CK_SOURCE_OVERRIDE,
  store = CK_SOURCE_STORE,
  model = CK_SOURCE_MODEL,
  search = CK_SOURCE_SEARCH,
  priority = CK_SOURCE_PRIORITY,
  estimate = CK_SOURCE_ESTIMATE,
};

namespace detail {

inline constexpr std::string_view source_words[] = {"override", "store", "model", "search", "estimate", "priority"};

template <std::size_t N>
[[nodiscard]] constexpr std::string_view text_of(const std::string_view (&words)[N], std::int32_t number) noexcept {
  return number >= 0 && static_cast<std::size_t>(number) < N ? words[number] : "unknown";
}

template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> number_of(const std::string_view (&words)[N],
                                                      std::string_view text) noexcept {
  for (std::size_t number = 0; number < N; ++number) {
    if (words[number] == text) return static_cast<Enum>(number);
  }
  return std::nullopt;
}

}  // namespace detail

[[nodiscard]] inline std::string_view to_string(Status status) noexcept {
  return ck_status_text(static_cast<std::int32_t>(status));
}
[[nodiscard]] constexpr std::string_view to_string(Dtype dtype) noexcept {
  return detail::text_of(detail::dtype_words, static_cast<std::int32_t>(dtype));
}
[[nodiscard]] constexpr std::string_view to_string(ConvLayout layout) noexcept {
  return detail::text_of(detail::conv_layout_words, static_cast<std::int32_t>(layout));
}
[[nodiscard]] constexpr std::string_view to_string(Source source) noexcept {
  return detail::text_of(detail::source_words, static_cast<std::int32_t>(source));
}
/// The type that a word such as "bf16" names.
[[nodiscard]] constexpr std::optional<Dtype> dtype_from(std::string_view word) noexcept {
  return detail::number_of<Dtype>(detail::dtype_words, word);
}
/// The layout that a word such as "nhwgc" names.
[[nodiscard]] constexpr std::optional<ConvLayout> layout_from(std::string_view word) noexcept {
  return detail::number_of<ConvLayout>(detail::conv_layout_words, word);
}
/// The memory order that "r", "c" or "p" names.
[[nodiscard]] constexpr std::optional<Major> major_from(std::string_view word) noexcept {
  return detail::number_of<Major>(detail::major_words, word);
}

/// The version of the loaded library, such as "0.1.0".
[[nodiscard]] inline std::string_view version() noexcept { return ck_select_version(); }

/// The message of the calling thread's last failure.
[[nodiscard]] inline std::string last_error() { return ck_last_error(); }

}  // namespace ck_select

#endif  // CK_SELECT_WORDS_HPP
