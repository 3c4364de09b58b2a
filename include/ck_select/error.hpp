/* Failed calls as exceptions or statuses, and strings on their way to C. */

#ifndef CK_SELECT_ERROR_HPP
#define CK_SELECT_ERROR_HPP

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "words.hpp"

namespace ck_select {

/// A failed call.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Runs the body and returns its status, for code without this library's exceptions:
/// `status_of([&] { registry.load_model("models/conv"); })`. Other exceptions of the body, such as std::bad_alloc,
/// propagate.
template <class Body>
[[nodiscard]] Status status_of(Body&& body) {
  try {
    std::forward<Body>(body)();
    return Status::ok;
  } catch (const Error& error) {
    return error.status();
  }
}

namespace detail {

inline void check(ck_status status) {
  if (status == CK_STATUS_OK) return;
  throw Error(static_cast<Status>(status),
              std::string(to_string(static_cast<Status>(status))) + ": " + ck_last_error());
}

/// An owned C string.
class CText {
 public:
  CText(std::string_view text, const char* what) : text_(text) {
    if (text_.find('\0') != std::string::npos) {
      throw Error(Status::invalid_argument, std::string(what) + ": contains a NUL character");
    }
  }

  [[nodiscard]] const char* get() const noexcept { return text_.c_str(); }
  /// NULL if it is empty.
  [[nodiscard]] const char* get_optional() const noexcept { return text_.empty() ? nullptr : text_.c_str(); }

 private:
  std::string text_;
};

/// A caller's string as a C string.
[[nodiscard]] inline const char* text(const std::string& text, const char* what) {
  if (text.find('\0') != std::string::npos) {
    throw Error(Status::invalid_argument, std::string(what) + ": contains a NUL character");
  }
  return text.c_str();
}

/// NULL if it is empty.
[[nodiscard]] inline const char* optional_text(const std::string& optional, const char* what) {
  return optional.empty() ? nullptr : text(optional, what);
}

/// An architecture stored beside the struct that points to it, without allocation.
class ArchText {
 public:
  void set(std::string_view arch) {
    if (arch.size() >= text_.size() || arch.find('\0') != std::string_view::npos) {
      throw Error(Status::invalid_argument, "arch: longer than 63 bytes, or contains a NUL character");
    }
    text_.fill('\0');
    std::copy(arch.begin(), arch.end(), text_.begin());
  }

  [[nodiscard]] const char* get_optional() const noexcept { return text_[0] == '\0' ? nullptr : text_.data(); }

 private:
  std::array<char, 64> text_{};
};

[[nodiscard]] inline const std::uint8_t* bytes_of(std::string_view bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// A C output struct with its size set.
template <class Struct>
[[nodiscard]] Struct sized() noexcept {
  Struct made{};
  made.struct_size = sizeof(Struct);
  return made;
}

[[nodiscard]] inline std::optional<double> known(double value) noexcept {
  // All but NaN. <cmath> would double what including this file costs.
  return value <= 0 || value > 0 ? std::optional<double>(value) : std::nullopt;
}

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_ERROR_HPP
