/* Choosing among the kernels of CK's registries. */

#ifndef CK_SELECT_DISPATCHER_SELECTOR_HPP
#define CK_SELECT_DISPATCHER_SELECTOR_HPP

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conv.hpp"
#include "core.hpp"
#include "gemm.hpp"
#include "options.hpp"

namespace ck_select {

/// The generation of CK's headers that the adapter found: `ck_select::generation<GroupedConvRegistry>()`.
template <class CkRegistry>
[[nodiscard]] constexpr Generation generation() noexcept {
  return detail::generation_of<detail::InstanceOf<CkRegistry>>();
}

namespace detail {

/// The interface of all selectors.
template <class CkRegistry, class Adapter>
class Selector {
  using Inner = Core<CkRegistry, Adapter>;
  static_assert(generation<CkRegistry>() != Generation::unknown,
                "ck_select does not know this generation of CK's dispatcher: its kernels have some of the members of one "
                "generation, but not all (docs/adopting.md, \"Which generation needs what\")");

 public:
  using Instance = typename Inner::Instance;

  /// Reads the registry and the models of the options; throws Error if one cannot be loaded.
  explicit Selector(const CkRegistry& registry, SelectorOptions options = {})
      : core_(std::make_shared<Inner>(registry, std::move(options))) {}

  /// The kernel to run; null if none can run the problem. Valid as long as the registry keeps the kernel; find()
  /// returns a shared one.
  template <class Problem>
  [[nodiscard]] const Instance* get_solution(const Problem& problem) const noexcept {
    return core_->find(problem).instance.get();
  }

  /// The same with score, source and status.
  template <class Problem>
  [[nodiscard]] Solution<Instance> find(const Problem& problem) const noexcept {
    return core_->find(problem);
  }

  /// CK's own choice: the highest priority that can run the problem.
  template <class Problem>
  [[nodiscard]] Solution<Instance> find_by_priority(const Problem& problem) const {
    return core_->find_by_priority(problem);
  }

  /// Which sources are asked and what each answers, as text; throws Error for a problem that cannot be expressed to the
  /// library.
  template <class Problem>
  [[nodiscard]] std::string explain(const Problem& problem) const {
    return core_->explain(problem);
  }

  /// For the dispatcher's set_heuristic: from a problem to names, best first. It never throws: without an answer the
  /// list is empty, the log says why, and CK continues as it would without a heuristic. It may outlive the selector,
  /// but not the registry.
  [[nodiscard]] auto heuristic() const {
    return [core = core_](const auto& problem) noexcept { return core->names(problem); };
  }

  /// Reads the registry again now.
  void refresh() { core_->refresh(); }

  /// Loads or replaces a model while other threads select.
  void load_model(std::string_view directory) { core_->load_model(directory); }

  /// The registered kernels that are never chosen, and why.
  [[nodiscard]] std::vector<Skipped> skipped() const { return core_->skipped(); }

  /// The registered kernels whose names contradict their keys.
  [[nodiscard]] std::vector<Contradiction> contradictions() const { return core_->contradictions(); }

  /// The registry that it chooses from.
  [[nodiscard]] const CkRegistry& ck_registry() const noexcept { return core_->ck(); }

 protected:
  template <class Ask, class Problem>
  [[nodiscard]] auto ask(Ask ask_registry, const Problem& problem) const {
    return core_->ask_library(std::move(ask_registry), problem);
  }

 private:
  std::shared_ptr<Inner> core_;
};

}  // namespace detail

/// Chooses among the kernels of a GroupedConvRegistry.
///
/// run() of runner.hpp and GroupedConvRunner run the very kernel that is chosen. A heuristic cannot promise that: CK's
/// dispatcher takes the first kernel, in the order of its hash table, whose name contains what a heuristic answers, so
/// no text leads to a kernel behind another whose name contains its own. Names are ordered by the kernel that they lead
/// to, and one that may lead to a kernel that cannot run the problem is left out. Call set_strategy of the dispatcher
/// beside set_heuristic.
template <class CkRegistry>
class GroupedConvSelector : public detail::Selector<CkRegistry, detail::ConvAdapter> {
 public:
  using detail::Selector<CkRegistry, detail::ConvAdapter>::Selector;
};
template <class CkRegistry>
GroupedConvSelector(const CkRegistry&) -> GroupedConvSelector<CkRegistry>;
template <class CkRegistry>
GroupedConvSelector(const CkRegistry&, SelectorOptions) -> GroupedConvSelector<CkRegistry>;

/// Chooses among the kernels of a GEMM Registry. A heuristic returns identifiers, as written by encode_identifier,
/// which the dispatcher looks up exactly.
template <class CkRegistry>
class GemmSelector : public detail::Selector<CkRegistry, detail::GemmAdapter> {
 public:
  using detail::Selector<CkRegistry, detail::GemmAdapter>::Selector;
};
template <class CkRegistry>
GemmSelector(const CkRegistry&) -> GemmSelector<CkRegistry>;
template <class CkRegistry>
GemmSelector(const CkRegistry&, SelectorOptions) -> GemmSelector<CkRegistry>;

}  // namespace ck_select

#endif  // CK_SELECT_DISPATCHER_SELECTOR_HPP
