/* Options of registries, models and exports. */

#ifndef CK_SELECT_OPTIONS_HPP
#define CK_SELECT_OPTIONS_HPP

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "error.hpp"

namespace ck_select {

/// Options of a registry, see ck_options. As there, 0 for `refine`, `repeats`, `budget`, `cutoff` and `run_timeout` is
/// the default; `warmup` may be 0.
struct Options {
  Mode mode = Mode::model;
  /// Ignores the environment, except for CK_SELECT_LOG, which belongs to the process.
  bool ignore_environment = false;
  /// Empty for none.
  std::string override_file;
  /// The architecture of problems that name none; empty for any.
  std::string arch;
  /// A file that describes the GPU (docs/estimate.md); empty for the profile of the architecture.
  std::string hardware;
  /// The file that keeps measured winners, or "off" for memory only; empty leaves it to the environment.
  std::string store;
  /// The device whose winners the store keeps; empty asks the HIP runtime.
  std::string device_name;
  /// The stream to measure on; it must live as long as these options are used.
  void* stream = nullptr;
  /// How many of the model's best kernels Mode::refine measures; -1 is as many as an answer asks for to be sure.
  int refine = 3;
  /// How many of them Mode::model measures if the problem is outside the model's training range; 0 for none.
  int refine_out_of_range = 0;
  /// Whether Mode::model measures all kernels if no model serves the problem.
  bool search = false;
  /// Timed runs and warm-up runs of each kernel.
  int repeats = 10;
  int warmup = 3;
  /// Time limit of one search.
  std::chrono::duration<double, std::milli> budget = std::chrono::minutes(1);
  /// A kernel is abandoned if its runs take this many times longer than the best kernel's.
  double cutoff = 3;
  /// Time limit of one run. A kernel that takes longer is considered hung: it is abandoned, and the search with it.
  std::chrono::duration<double, std::milli> run_timeout = std::chrono::seconds(5);
  /// Measures with the host's clock, without a GPU, for callables that do all their work on the host. Requires `arch`.
  bool host_timing = false;
  /// Whether built-in models answer problems that no loaded model serves. A universal model, loaded or built in, answers
  /// only those for which no other model was trained.
  bool embedded_models = false;
  /// Whether the estimate answers where nothing else does, before the priority.
  bool estimate = true;
  /// The numbers of parts that may be chosen for problems whose split_k is 0; empty for 1, 2, 4, 8, 16.
  std::vector<std::int32_t> splits;
};

/// The problems that a model serves, see ck_model_key. Empty fields match anything.
struct ModelKey {
  Op op = Op::conv;
  std::optional<Direction> direction;
  std::optional<Dtype> dtype;
  std::string arch;
};

/// Options of a model, see ck_model_options.
struct ModelOptions {
  /// Empty for the problems that the model's spec names.
  std::optional<ModelKey> key;
  /// Hardware constants for its features; empty for those of its spec.
  std::optional<ck_hardware> hardware;
  /// Makes it serve all problems of its operation, whatever its spec says. Must not be combined with `key`.
  bool force = false;
};

/// The hardware constants of an architecture; empty for those that upstream's models assume when they record none.
[[nodiscard]] inline ck_hardware hardware_of(std::string_view arch) {
  const detail::CText text(arch, "arch");
  ck_hardware hardware;
  detail::check(ck_hardware_init(&hardware, text.get_optional()));
  return hardware;
}

/// The names of the built-in models.
[[nodiscard]] inline std::vector<std::string_view> embedded_models() {
  std::vector<std::string_view> names;
  const char* name = nullptr;
  while (ck_embedded_model_name(names.size(), &name) == CK_STATUS_OK) names.emplace_back(name);
  return names;
}

/// What a call of Registry::tune did; see ck_tune_report.
struct TuneReport {
  std::size_t measured = 0;
  std::size_t improved = 0;
  std::size_t failed = 0;
  std::size_t waiting = 0;
  double saved_ms = 0;
  double elapsed_ms = 0;
};

/// The state of the store of measured winners.
struct StoreStatus {
  /// Number of winners that are only in memory and still have to be written.
  std::size_t waiting = 0;
  /// Why the store could not be used the last time; empty if it could.
  std::string reason;
};

/// Options of an export, see ck_export_options.
struct ExportOptions {
  std::string registry_name = "default";
  /// The time of a GEMM export, "YYYY-MM-DDThh:mm:ss"; empty omits it.
  std::string timestamp;
  bool statistics = false;
};

/// A LightGBM model in memory, plain or gzip.
struct Forest {
  Target target = Target::tflops;
  std::string_view bytes;
};

namespace detail {

[[nodiscard]] inline ck_model_key raw_key(const ModelKey& key) {
  auto raw = sized<ck_model_key>();
  raw.op = static_cast<std::int32_t>(key.op);
  raw.direction = key.direction ? static_cast<std::int32_t>(*key.direction) : CK_ANY;
  raw.dtype = key.dtype ? static_cast<std::int32_t>(*key.dtype) : CK_ANY;
  raw.arch = optional_text(key.arch, "arch");
  return raw;
}

template <class Body>
void with(const ModelOptions& options, Body body) {
  auto raw = sized<ck_model_options>();
  ck_model_key key{};
  if (options.key) {
    key = raw_key(*options.key);
    raw.key = &key;
  }
  raw.hardware = options.hardware ? &*options.hardware : nullptr;
  raw.force = options.force ? 1 : 0;
  body(raw);
}

template <class Body>
void with(const Options& options, Body body) {
  const CText override_file(options.override_file, "override_file");
  const CText arch(options.arch, "arch");
  const CText hardware(options.hardware, "hardware");
  std::string splits;
  for (const std::int32_t parts : options.splits) splits += (splits.empty() ? "" : ",") + std::to_string(parts);
  auto raw = sized<ck_options>();
  raw.mode = static_cast<std::int32_t>(options.mode);
  raw.ignore_environment = options.ignore_environment ? 1 : 0;
  raw.store = optional_text(options.store, "store");
  raw.device_name = optional_text(options.device_name, "device_name");
  raw.stream = options.stream;
  raw.refine = options.refine;
  raw.refine_out_of_range = options.refine_out_of_range;
  raw.search = options.search ? 1 : 0;
  raw.repeats = options.repeats;
  // In C, 0 means the default.
  raw.warmup = options.warmup == 0 ? -1 : options.warmup;
  raw.budget_ms = options.budget.count();
  raw.cutoff = options.cutoff;
  raw.run_timeout_ms = options.run_timeout.count();
  raw.host_timing = options.host_timing ? 1 : 0;
  raw.embedded_models = options.embedded_models ? 1 : 0;
  raw.no_estimate = options.estimate ? 0 : 1;
  raw.override_file = override_file.get_optional();
  raw.arch = arch.get_optional();
  raw.hardware = hardware.get_optional();
  raw.splits = splits.empty() ? nullptr : splits.c_str();
  body(raw);
}

}  // namespace detail

}  // namespace ck_select

#endif  // CK_SELECT_OPTIONS_HPP
