// What the C++ tests share.

#ifndef CK_SELECT_TESTS_COMMON_HPP
#define CK_SELECT_TESTS_COMMON_HPP

#include <algorithm>
#include <string>
#include <vector>

#include "../c/check.h"
#include "ck_select_dispatcher.hpp"

namespace common {

/// The repository, the only argument of these programs.
inline std::string repository(int argc, char** argv) {
  CHECK(argc == 2);
  return argc == 2 ? argv[1] : ".";
}

/// The status of what the body throws; ok when it does not.
template <class Body>
ck_select::Status thrown(Body body) {
  try {
    body();
    return ck_select::Status::ok;
  } catch (const ck_select::Error& error) {
    CHECK(std::string(error.what()).size() > 5);
    return error.status();
  }
}

/// What the exception says that the body throws; empty when it throws none of this type.
template <class Exception, class Body>
std::string raised(Body body) {
  try {
    body();
    return {};
  } catch (const Exception& error) {
    return error.what();
  }
}

/// Without the estimate, so that what has no model is CK's choice.
inline ck_select::SelectorOptions quiet() {
  ck_select::SelectorOptions options;
  options.registry.ignore_environment = true;
  options.registry.estimate = false;
  return options;
}

/// Two runs of each kernel by the host's clock, and nothing kept.
inline ck_select::SelectorOptions searching(ck_select::SelectorOptions options) {
  options.registry.mode = ck_select::Mode::search;
  options.registry.host_timing = true;
  options.registry.arch = "gfx950";
  options.registry.store = "off";
  options.registry.warmup = 0;
  options.registry.repeats = 2;
  return options;
}

/// The lines of the dispatchers' log, each after its level.
inline std::vector<std::string> log_lines;

inline void keep_line(std::int32_t level, const char* source, const char* text, void* /*user*/) {
  if (std::string(source) == "dispatcher") log_lines.push_back(std::to_string(level) + ' ' + text);
}

inline bool logged(const std::string& part) {
  return std::any_of(log_lines.begin(), log_lines.end(),
                     [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

/// How many errors there are.
inline std::ptrdiff_t errors_logged() {
  return std::count_if(log_lines.begin(), log_lines.end(), [](const std::string& line) { return line[0] == '1'; });
}

}  // namespace common

#endif  // CK_SELECT_TESTS_COMMON_HPP
