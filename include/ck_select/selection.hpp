/* What a registry answers. */

#ifndef CK_SELECT_SELECTION_HPP
#define CK_SELECT_SELECTION_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "words.hpp"

namespace ck_select {

/// A registered kernel. Names are NUL-terminated and live until the registry is destroyed.
struct KernelInfo {
  std::string_view name;
  void* user = nullptr;
  std::size_t index = 0;
  int priority = 0;
};

/// How sure a choice is, see docs/sureness.md.
struct Sureness {
  /// As a share of the speed of the best kernel of the pool.
  double expected_loss = 0;
  /// That the kernel is within 2 % of the best.
  double chance = 0;
  /// How many of the first kernels have to be measured for the fastest of them to be within 2 % of the best with a
  /// chance of 90 and of 99 %.
  std::uint32_t within_90 = 0;
  std::uint32_t within_99 = 0;
};

/// A chosen kernel, see ck_selection.
struct Selection {
  /// NUL-terminated; lives until the registry is destroyed.
  std::string_view name;
  void* user = nullptr;
  std::size_t index = 0;
  /// The parts into which the reduction is split (CK's k_batch): the problem's, unless it is 0 there.
  std::int32_t split_k = 1;
  std::size_t rank = 0;
  std::size_t unsupported = 0;
  /// Empty if no model was asked.
  std::optional<double> score;
  /// Empty if it was not measured.
  std::optional<std::chrono::duration<double, std::milli>> measured;
  std::uint64_t generation = 0;
  Source source = Source::priority;
  bool out_of_range = false;
  /// The fields that are out of range, one bit each; see field_names().
  std::uint64_t out_of_range_fields = 0;
  /// No kernel measured for the model had this kernel's pipeline or suffixes.
  bool unmeasured = false;
  /// The model is for one architecture, and neither problem nor options name one: the device may be different.
  bool arch_unknown = false;
  /// The first kernel by priority, because no model and no other source had an answer.
  bool no_model = false;
  /// The model is a universal one, which ranks for any GPU, direction and type.
  bool universal = false;
  /// The model that chose it: "embedded:universal" or another built-in one, a directory, or the name of a model from
  /// memory. NUL-terminated, lives as long as the program; empty from other sources.
  std::string_view model;
  /// Empty if nothing was learned about such choices, as for types and architectures without any, and from sources that
  /// measure.
  std::optional<Sureness> sureness;
};

/// The names of the bits in Selection::out_of_range_fields.
[[nodiscard]] inline std::vector<std::string_view> field_names(Op op, std::uint64_t fields) {
  std::vector<std::string_view> names;
  const char* name = nullptr;
  for (std::size_t bit = 0; ck_problem_field_name(static_cast<std::int32_t>(op), bit, &name) == CK_STATUS_OK; ++bit) {
    if ((fields >> bit & 1) != 0) names.emplace_back(name);
  }
  return names;
}

/// One place of a ranking.
struct Ranked {
  std::string_view name;
  void* user = nullptr;
  std::size_t index = 0;
  /// The parts into which the reduction is split.
  std::int32_t split_k = 1;
  double score = 0;
  /// The previous or the next place has the same score.
  bool tied = false;
  /// No kernel measured for the model had this kernel's pipeline or suffixes.
  bool unmeasured = false;
  /// Empty if it is not known.
  std::optional<std::chrono::duration<double, std::micro>> expected_time;
  /// By how much it is slower than the first place: 1 for an equal kernel.
  std::optional<double> slower;
  /// The expected loss of choosing it.
  std::optional<double> expected_loss;
};

/// A model's predictions for one kernel; empty for targets without a forest.
struct Predictions {
  std::optional<double> tflops;
  std::optional<std::chrono::duration<double, std::milli>> latency;
  std::optional<double> bandwidth_gb_s;
};

}  // namespace ck_select

#endif  // CK_SELECT_SELECTION_HPP
