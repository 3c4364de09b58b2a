/* The registry: kernels, models and options, and the choice. */

#ifndef CK_SELECT_REGISTRY_HPP
#define CK_SELECT_REGISTRY_HPP

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hooks.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "selection.hpp"

namespace ck_select {

namespace detail {

struct DestroyRegistry {
  void operator()(ck_registry* registry) const noexcept { ck_registry_destroy(registry); }
};

}  // namespace detail

/// Kernels, models and options. Move-only; a moved-from registry may only be destroyed or assigned to.
///
/// Add kernels through this class: the `user` of kernels that were added to capi() directly cannot be returned.
class Registry {
 public:
  Registry() : Registry(Options{}) {}

  explicit Registry(const Options& options) {
    if (ck_select_abi_version() != CK_SELECT_ABI_VERSION) {
      throw Error(Status::invalid_struct,
                  "libck_select " + std::string(version()) + " has binary interface " +
                      std::to_string(ck_select_abi_version()) + ", this program was compiled for " +
                      std::to_string(CK_SELECT_ABI_VERSION));
    }
    ck_registry* made = nullptr;
    detail::with(options, [&](const ck_options& raw) { detail::check(ck_registry_create(&raw, &made)); });
    handle_.reset(made);
  }

  [[nodiscard]] ck_registry* capi() const noexcept { return handle_.get(); }

  /// Releases the handle, for ck_registry_destroy, which also drops the callables.
  [[nodiscard]] ck_registry* release() noexcept { return handle_.release(); }

  void set_options(const Options& options) {
    detail::with(options, [&](const ck_options& raw) { detail::check(ck_registry_set_options(capi(), &raw)); });
  }

  /// Adds a kernel by name. A kernel of the same name is replaced if the new priority is higher.
  void add(std::string_view name, Hooks hooks = {}) {
    const detail::CText text(name, "kernel name");
    detail::Added added;
    const ck_kernel_hooks raw = added.add(std::move(hooks));
    detail::check(ck_registry_add_kernel(capi(), text.get(), &raw));
    added.hand_over();
  }

  /// Adds all of them or, if one cannot be added, none.
  void add(std::vector<NewKernel> kernels) {
    std::vector<const char*> names(kernels.size());
    for (std::size_t at = 0; at < names.size(); ++at) names[at] = detail::text(kernels[at].name, "kernel name");
    add_with_hooks(kernels.data(), kernels.size(), [&](const ck_kernel_hooks* hooks) {
      return ck_registry_add_kernels(capi(), names.data(), hooks, names.size());
    });
  }

  /// Adds a kernel by descriptor.
  template <class Kernel, class = decltype(Kernel::add_all)>
  void add(const Kernel& kernel, Hooks hooks = {}) {
    NewDescribed<Kernel> made{kernel, std::move(hooks)};
    add_described(&made, 1);
  }

  /// Adds all of them or, if one cannot be added, none.
  template <class Kernel>
  void add(std::vector<NewDescribed<Kernel>> kernels) {
    add_described(kernels.data(), kernels.size());
  }

  /// The number of parts into which the keys of a sequence are split, see ck_registry_choose_fmha_splits.
  [[nodiscard]] std::int64_t fmha_splits(const FmhaProblem& problem, std::int64_t most) const {
    std::int64_t splits = 1;
    detail::check(ck_registry_choose_fmha_splits(capi(), &problem.capi(), most, &splits));
    return splits;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t size = 0;
    detail::check(ck_registry_size(capi(), &size));
    return size;
  }

  /// The kernel at an index in the order of registration; empty if there is none.
  [[nodiscard]] std::optional<KernelInfo> kernel_at(std::size_t index) const {
    return info([&](ck_kernel_info* raw) { return ck_registry_kernel_at(capi(), index, raw); });
  }

  /// The kernel with a name; empty if there is none.
  [[nodiscard]] std::optional<KernelInfo> find(std::string_view name) const {
    const detail::CText text(name, "kernel name");
    return info([&](ck_kernel_info* raw) { return ck_registry_find(capi(), text.get(), raw); });
  }

  /// All kernels in the order of registration; not a snapshot if another thread changes the registry meanwhile.
  [[nodiscard]] std::vector<KernelInfo> kernels() const {
    std::vector<KernelInfo> all;
    while (const auto kernel = kernel_at(all.size())) all.push_back(*kernel);
    return all;
  }

  /// Removes the kernels of other architectures; returns their number.
  std::size_t retain_arch(std::string_view arch) {
    const detail::CText text(arch, "arch");
    std::size_t removed = 0;
    detail::check(ck_registry_retain_arch(capi(), text.get(), &removed));
    return removed;
  }

  /// Removes the kernel with a name; false if there is none.
  bool remove(std::string_view name) {
    const detail::CText text(name, "kernel name");
    const ck_status status = ck_registry_remove_kernel(capi(), text.get());
    if (status == CK_STATUS_NOT_FOUND) return false;
    detail::check(status);
    return true;
  }

  void clear() { detail::check(ck_registry_clear(capi())); }

  /// Increases with every change of kernels, models and options.
  [[nodiscard]] std::uint64_t generation() const {
    std::uint64_t generation = 0;
    detail::check(ck_registry_generation(capi(), &generation));
    return generation;
  }

  /// Adds the kernels of a JSON export of a CK registry, all or none, without callables.
  void import_json(std::string_view json) {
    detail::check(ck_registry_import_json(capi(), detail::bytes_of(json), json.size(), nullptr, nullptr));
  }

  /// The same with the hooks that `hooks_of` returns for each kernel's name; kernels for which it returns none are
  /// skipped. Its exceptions propagate, and then no kernel is added.
  template <class HooksOf>
  void import_json(std::string_view json, HooksOf hooks_of) {
    struct Import {
      HooksOf& hooks_of;
      detail::Added added;
      std::exception_ptr thrown;
    } import{hooks_of, {}, nullptr};
    const auto ask = [](const char* name, ck_kernel_hooks* raw, void* user) noexcept -> std::int32_t {
      auto& request = *static_cast<Import*>(user);
      if (request.thrown) return 0;
      try {
        std::optional<Hooks> hooks = request.hooks_of(std::string_view(name));
        if (!hooks) return 0;
        *raw = request.added.add(std::move(*hooks));
      } catch (...) {
        request.thrown = std::current_exception();
        raw->struct_size = 0;  // ends the import
      }
      return 1;
    };
    const ck_status status =
        ck_registry_import_json(capi(), detail::bytes_of(json), json.size(), +ask, &import);
    if (import.thrown) std::rethrow_exception(import.thrown);
    detail::check(status);
    import.added.hand_over();
  }

  /// The kernels of one operation in the JSON format of CK's registry for that operation.
  [[nodiscard]] std::string export_json(Op op, const ExportOptions& options = {}) const {
    auto raw = detail::sized<ck_export_options>();
    raw.registry_name = detail::text(options.registry_name, "registry_name");
    raw.timestamp = detail::optional_text(options.timestamp, "timestamp");
    raw.statistics = options.statistics ? 1 : 0;
    char* made = nullptr;
    detail::check(ck_registry_export_json(capi(), static_cast<std::int32_t>(op), &raw, &made));
    const std::unique_ptr<char, void (*)(char*)> json(made, ck_string_free);
    return json.get();
  }

  /// Loads a model directory, or "embedded:NAME".
  void load_model(std::string_view directory, const ModelOptions& options = {}) {
    const detail::CText text(directory, "directory");
    detail::with(options,
                 [&](const ck_model_options& raw) { detail::check(ck_registry_load_model(capi(), text.get(), &raw)); });
  }

  /// Loads a built-in model.
  void load_embedded(std::string_view name, const ModelOptions& options = {}) {
    const detail::CText text(name, "name");
    detail::with(options,
         [&](const ck_model_options& raw) { detail::check(ck_registry_load_embedded(capi(), text.get(), &raw)); });
  }

  /// Loads a model from memory; `name` is its name in messages.
  void load_model(std::string_view name, std::string_view spec, const std::vector<Forest>& forests,
                  const ModelOptions& options = {}) {
    const detail::CText text(name, "name");
    std::vector<ck_forest_bytes> raw(forests.size(), detail::sized<ck_forest_bytes>());
    for (std::size_t at = 0; at < raw.size(); ++at) {
      raw[at].target = static_cast<std::int32_t>(forests[at].target);
      raw[at].bytes = detail::bytes_of(forests[at].bytes);
      raw[at].len = forests[at].bytes.size();
    }
    detail::with(options, [&](const ck_model_options& usage) {
      detail::check(ck_registry_load_model_bytes(capi(), text.get(), detail::bytes_of(spec), spec.size(), raw.data(),
                                                 raw.size(), &usage));
    });
  }

  /// Removes the model that was loaded for these problems; false if there is none.
  bool remove_model(const ModelKey& key) {
    const ck_model_key raw = detail::raw_key(key);
    const ck_status status = ck_registry_remove_model(capi(), &raw);
    if (status == CK_STATUS_NOT_FOUND) return false;
    detail::check(status);
    return true;
  }

  void remove_models() { detail::check(ck_registry_remove_models(capi())); }

  /// Prepares the models for the current kernels; otherwise the first selection after a change does.
  void prepare() { detail::check(ck_registry_prepare(capi())); }

  /// Reads the winners that other processes have stored, and writes the waiting ones; throws if it cannot. It reads a
  /// file: call it from time to time, not before each selection.
  void refresh_store() { detail::check(ck_registry_refresh_store(capi())); }

  /// How many winners are only in memory, because the store could not be written, and the reason.
  [[nodiscard]] StoreStatus store_status() const {
    StoreStatus status;
    char* raw = nullptr;
    detail::check(ck_registry_store_status(capi(), &status.waiting, &raw));
    const std::unique_ptr<char, void (*)(char*)> reason(raw, ck_string_free);
    if (reason) status.reason = reason.get();
    return status;
  }

  /// Measures, within a time, the most frequently requested problems that are answered by a guess; see
  /// ck_registry_tune. `kernels` is how many of a problem's best kernels are measured, `stream` a hipStream_t, null for
  /// that of the options.
  TuneReport tune(std::chrono::duration<double, std::milli> time, std::int32_t kernels = 3, void* stream = nullptr) {
    const ck_tune_budget budget{sizeof budget, time.count(), stream, kernels, 0};
    ck_tune_report raw{};
    raw.struct_size = sizeof raw;
    detail::check(ck_registry_tune(capi(), &budget, &raw));
    TuneReport report;
    report.measured = raw.measured;
    report.improved = raw.improved;
    report.failed = raw.failed;
    report.waiting = raw.waiting;
    report.saved_ms = raw.saved_ms;
    report.elapsed_ms = raw.elapsed_ms;
    return report;
  }

  // The calls below take a ConvProblem, a GemmProblem, an FmhaProblem, or one of the C structs.

  /// Chooses the kernel to run.
  template <class Problem>
  [[nodiscard]] Selection select(const Problem& problem) const {
    Selection selection;
    detail::check(call_select(problem, selection));
    return selection;
  }

  /// The same without exceptions: `selection` is written when the status is ok.
  template <class Problem>
  [[nodiscard]] Status try_select(const Problem& problem, Selection& selection) const noexcept {
    return static_cast<Status>(call_select(problem, selection));
  }

  /// The best `limit` kernels by the model that serves the problem, best first; `supports` is not called.
  template <class Problem>
  [[nodiscard]] std::vector<Ranked> rank(
      const Problem& problem, std::size_t limit = std::numeric_limits<std::size_t>::max(),
      std::size_t* left_out = nullptr) const {
    std::vector<ck_ranked> raw(std::min(limit, size()), detail::sized<ck_ranked>());
    std::size_t count = 0;
    const auto call = [&] {
      return detail::CallsFor<Problem>::rank(capi(), &detail::raw(problem), raw.size(), raw.data(), &count, left_out);
    };
    detail::check(call());
    // Where the number of parts is chosen, a kernel has a place for each.
    if (std::min(limit, count) > raw.size()) {
      raw.assign(std::min(limit, count), detail::sized<ck_ranked>());
      detail::check(call());
    }
    raw.resize(std::min(count, raw.size()));
    std::vector<Ranked> ranked;
    ranked.reserve(raw.size());
    for (const ck_ranked& place : raw) {
      ranked.push_back({place.name, place.user, place.index, place.split_k, place.score, place.tied != 0,
                        place.unmeasured != 0, std::nullopt, detail::known(place.slower),
                        detail::known(place.expected_loss)});
      if (const auto us = detail::known(place.time_us)) ranked.back().expected_time.emplace(*us);
    }
    return ranked;
  }

  /// The serving model's predictions for the kernel at an index.
  template <class Problem>
  [[nodiscard]] Predictions predict(const Problem& problem, std::size_t index) const {
    auto raw = detail::sized<ck_predictions>();
    detail::check(detail::CallsFor<Problem>::predict(capi(), &detail::raw(problem), index, &raw));
    Predictions predictions{detail::known(raw.tflops), std::nullopt, detail::known(raw.bandwidth_gb_s)};
    if (const auto latency = detail::known(raw.latency_ms)) predictions.latency.emplace(*latency);
    return predictions;
  }

  /// The features of the kernel at an index as the serving model sees them, in the model's order.
  template <class Problem>
  [[nodiscard]] std::vector<double> features(const Problem& problem, std::size_t index) const {
    std::vector<double> row(128);
    while (true) {
      std::size_t count = 0;
      const ck_status status =
          detail::CallsFor<Problem>::features(capi(), &detail::raw(problem), index, row.size(), row.data(), &count);
      if (status == CK_STATUS_BUFFER_TOO_SMALL && count > row.size()) {
        row.resize(count);
        continue;
      }
      detail::check(status);
      row.resize(count);
      return row;
    }
  }

  /// Which sources are asked for a problem and what each answers, as human-readable text.
  template <class Problem>
  [[nodiscard]] std::string explain(const Problem& problem) const {
    char* raw = nullptr;
    detail::check(detail::CallsFor<Problem>::explain(capi(), &detail::raw(problem), &raw));
    const std::unique_ptr<char, void (*)(char*)> text(raw, ck_string_free);
    return text.get();
  }

 private:
  template <class Kernel>
  void add_described(NewDescribed<Kernel>* kernels, std::size_t count) {
    std::vector<decltype(kernels->kernel.capi())> descs(count);
    for (std::size_t at = 0; at < count; ++at) descs[at] = kernels[at].kernel.capi();
    add_with_hooks(kernels, count, [&](const ck_kernel_hooks* hooks) {
      return Kernel::add_all(capi(), descs.data(), hooks, count);
    });
  }

  /// Calls with the hooks of all kernels, which are the library's then.
  template <class New, class Call>
  void add_with_hooks(New* kernels, std::size_t count, Call call) {
    std::vector<ck_kernel_hooks> hooks(count);
    detail::Added added;
    for (std::size_t at = 0; at < count; ++at) hooks[at] = added.add(std::move(kernels[at].hooks));
    detail::check(call(hooks.data()));
    added.hand_over();
  }

  template <class Problem>
  ck_status call_select(const Problem& problem, Selection& selection) const noexcept {
    auto raw = detail::sized<ck_selection>();
    const ck_status status = detail::CallsFor<Problem>::select(capi(), &detail::raw(problem), &raw);
    if (status == CK_STATUS_OK) {
      selection.name = raw.name;
      selection.user = raw.user;
      selection.index = raw.index;
      selection.split_k = raw.split_k;
      selection.rank = raw.rank;
      selection.unsupported = raw.unsupported;
      selection.score = detail::known(raw.score);
      selection.measured.reset();
      if (const auto ms = detail::known(raw.measured_ms)) selection.measured.emplace(*ms);
      selection.generation = raw.generation;
      selection.source = static_cast<Source>(raw.source);
      selection.out_of_range = raw.out_of_range != 0;
      selection.out_of_range_fields = raw.out_of_range_fields;
      selection.unmeasured = raw.unmeasured != 0;
      selection.arch_unknown = raw.arch_unknown != 0;
      selection.no_model = raw.no_model != 0;
      selection.universal = raw.universal != 0;
      selection.sureness.reset();
      if (detail::known(raw.expected_loss)) {
        selection.sureness = Sureness{raw.expected_loss, raw.chance, raw.sure_within_90, raw.sure_within_99};
      }
      selection.model = raw.model != nullptr ? std::string_view(raw.model) : std::string_view();
    }
    return status;
  }

  template <class Call>
  static std::optional<KernelInfo> info(Call call) {
    auto raw = detail::sized<ck_kernel_info>();
    const ck_status status = call(&raw);
    if (status == CK_STATUS_NOT_FOUND) return std::nullopt;
    detail::check(status);
    return KernelInfo{raw.name, raw.user, raw.index, raw.priority};
  }

  std::unique_ptr<ck_registry, detail::DestroyRegistry> handle_;
};

}  // namespace ck_select

#endif  // CK_SELECT_REGISTRY_HPP
