/* What the selectors of all operations share: the registry's kernels are registered with the library, and its answers
 * are returned as instances. */

#ifndef CK_SELECT_DISPATCHER_CORE_HPP
#define CK_SELECT_DISPATCHER_CORE_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "names.hpp"
#include "registry.hpp"
#include "snapshot.hpp"

namespace ck_select::detail {

/// `Adapter` reads CK's classes of one operation.
template <class CkRegistry, class Adapter>
class Core {
 public:
  using Pointer = typename std::decay_t<decltype(instances_of(std::declval<const CkRegistry&>()))>::value_type;
  using Instance = InstanceOf<CkRegistry>;
  using Kernel = typename Adapter::Kernel;
  using Operation = CallsFor<typename Adapter::LibraryProblem>;
  using State = Snapshot<Instance, Kernel, typename Adapter::LibraryProblem>;

  Core(const CkRegistry& registry, SelectorOptions options)
      : ck_(&registry), options_(std::move(options)), registry_(options_.registry) {
    for (const std::string& model : options_.models) registry_.load_model(model);
    refresh();
  }

  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void load_model(std::string_view directory) { registry_.load_model(directory); }

  [[nodiscard]] const CkRegistry& ck() const noexcept { return *ck_; }
  [[nodiscard]] std::vector<Skipped> skipped() const { return state()->skipped; }
  [[nodiscard]] std::vector<Contradiction> contradictions() const { return state()->contradictions; }

  void refresh() {
    const std::lock_guard<std::mutex> turn(refreshing_);
    read_registry();
  }

  template <class Problem>
  [[nodiscard]] Solution<Instance> find(const Problem& problem) noexcept {
    Solution<Instance> solution;
    try {
      const auto state = current();
      const auto query = Adapter::map(problem, options_, *state);
      solution = find(*state, problem, query);
    } catch (const Error& error) {
      solution.status = error.status();
      say(error, CK_LOG_LEVEL_DEBUG);
    } catch (const std::exception& error) {
      say(Error(solution.status, error.what()), CK_LOG_LEVEL_WARN);
    } catch (...) {
      say(Error(solution.status, "an exception that is no std::exception"), CK_LOG_LEVEL_WARN);
    }
    return solution;
  }

  /// CK's own choice. Its find ends with the first kernel whose is_supported throws; such a kernel counts as "no" here,
  /// and the best of the others is taken: the highest priority, then the first name.
  template <class Problem>
  [[nodiscard]] Solution<Instance> find_by_priority(const Problem& problem) {
    Solution<Instance> solution;
    try {
      // Not owned, as in CK.
      solution.instance = std::shared_ptr<const Instance>(std::shared_ptr<void>(), ck_->find(problem));
      if (solution.instance != nullptr) solution.status = Status::ok;
      return solution;
    } catch (...) {
      // can_run notes below what was thrown.
    }
    const auto state = current();
    const auto query = Adapter::map(problem, options_, *state);
    const Running<Problem> running(*this, *state, problem, query.requirement);
    const Known<Instance, Kernel>* best = nullptr;
    const auto priority = [&](const auto& known) { return state->priorities[known.place]; };
    for (const auto& known : state->kernels) {
      if (best != nullptr && priority(known) <= priority(*best)) continue;
      if (can_run(known, problem, query.requirement)) best = &known;
    }
    if (best == nullptr) {
      solution.reason = why_none(*state, running.now);
      return solution;
    }
    solution.instance = best->instance;
    solution.status = Status::ok;
    return solution;
  }

  template <class Problem>
  [[nodiscard]] std::string explain(const Problem& problem) {
    const auto state = current();
    const auto query = Adapter::map(problem, options_, *state);
    const Running<Problem> running(*this, *state, problem, query.requirement);
    std::string text = registry_.explain(query.problem);
    const std::string why = why_none(*state, running.now);
    return why.empty() ? text : text + "kernels: " + why + '\n';
  }

  /// Asks the library's registry about a converted problem, on the current state of the registry.
  template <class Ask, class Problem>
  [[nodiscard]] auto ask_library(Ask ask_registry, const Problem& problem) {
    const auto state = current();
    const auto query = Adapter::map(problem, options_, *state);
    const Running<Problem> running(*this, *state, problem, query.requirement);
    return ask_registry(static_cast<const Registry&>(registry_), query.problem);
  }

  /// Names for a dispatcher, best first: find's answer, then the model's ranking or, without one, the rest in order.
  /// Empty if there is none, and the log says why: an exception would propagate from CK's select_kernel and run.
  template <class Problem>
  [[nodiscard]] std::vector<std::string> names(const Problem& problem) noexcept {
    try {
      const auto state = current();
      const auto query = Adapter::map(problem, options_, *state);
      const Solution<Instance> best = find(*state, problem, query);
      if (best.instance == nullptr) {
        throw Error(best.status, "no kernel can run the problem: " + (best.reason.empty() ? last_error() : best.reason));
      }
      const typename Adapter::Scope reads(problem);
      std::vector<std::size_t> ranked{state->by_instance.at(best.instance.get())};
      // Few are enough unless most cannot run the problem.
      for (const std::size_t limit : {4 * options_.heuristic_limit, std::numeric_limits<std::size_t>::max()}) {
        ranked.resize(1);
        add_ranked(ranked, *state, query, limit);
        const auto fits = [&](std::size_t at) {
          return in_parts<Adapter>(problem, best.selection.split_k, [&](const Problem& definite) {
            return can_run(state->kernels[at], definite, query.requirement);
          });
        };
        auto names = names_of<Adapter::matches_parts>(ranked, *state, options_, fits);
        if (names.size() >= options_.heuristic_limit || limit > 4 * options_.heuristic_limit) {
          if (names.empty()) {
            throw Error(Status::no_kernel, "each kernel that fits has a name that a kernel that does not fit contains");
          }
          return names;
        }
      }
    } catch (const Error& error) {
      say(error, CK_LOG_LEVEL_WARN);
    } catch (...) {
      log_line(CK_LOG_LEVEL_WARN, "no answer: an exception that is none of ck_select's");
    }
    return {};
  }

 private:
  [[nodiscard]] std::shared_ptr<const State> state() const {
    const std::shared_lock<std::shared_mutex> lock(publishing_);
    return state_;
  }

  /// The state, after checking the registry.
  [[nodiscard]] std::shared_ptr<const State> current() {
    auto now = state();
    if (is_current(*now)) return now;
    const std::lock_guard<std::mutex> turn(refreshing_);
    // Another thread may have done it while this one waited.
    if (const auto next = state(); next != now && is_current(*next)) return next;
    read_registry();
    return state();
  }

  [[nodiscard]] bool is_current(const State& state) const {
    switch (options_.follow) {
      case Follow::told: return true;
      case Follow::size: return ck_->size() == state.seen.size();
      case Follow::in_turn: return looks_same_in_part(*ck_, state);
      case Follow::every_call: break;
    }
    return looks_same(*ck_, state);
  }

  /// Publishes a new state once the library knows its kernels. Only for the thread that holds the turn.
  void read_registry() {
    auto next = std::make_shared<State>();
    read_entries(*ck_, *next);
    for (std::size_t place = 0; place < next->seen.size(); ++place) {
      if (next->seen[place] == nullptr) continue;
      next->kernels.push_back(Adapter::describe(*next->seen[place]));
      Known<Instance, Kernel>& known = next->kernels.back();
      known.instance = next->seen[place];
      known.place = place;
      known.priority = options_.priority ? options_.priority(known.name) : next->priorities[place];
    }
    // The registry's order is that of a hash table; ours must be the same everywhere. Equal scores are decided by the
    // library before it. Not by std::stable_sort, of which clang 18 and newer with libstdc++ warn in C++17.
    const auto rank = [](const auto& kernel) { return std::tie(kernel.key, kernel.name, kernel.arch, kernel.place); };
    std::sort(next->kernels.begin(), next->kernels.end(),
              [&](const auto& one, const auto& other) { return rank(one) < rank(other); });
    tell_apart(next->kernels);
    tell_library(*next);
    next->slots.resize(slots_.size());
    for (std::size_t at = 0; at < next->kernels.size(); ++at) take(*next, at);
    registry_.prepare();
    const std::unique_lock<std::shared_mutex> lock(publishing_);
    state_ = std::move(next);
  }

  /// Indexes a kernel of a new state.
  void take(State& next, std::size_t at) {
    Known<Instance, Kernel>& kernel = next.kernels[at];
    next.by_instance.emplace(kernel.instance.get(), at);
    if (!kernel.contradiction.empty()) {
      next.contradictions.push_back({kernel.name, kernel.contradiction});
      if (contradicting_.try_emplace(kernel.name).second) {
        log_line(CK_LOG_LEVEL_INFO,
                 kernel.name + ": name and key disagree, the name is believed: " + kernel.contradiction);
      }
    }
    const auto refused = refused_.find(kernel.key);
    if (kernel.key.empty() || refused != refused_.end()) {
      next.skipped.push_back({kernel.name, kernel.key.empty() ? kernel.reason : refused->second});
      if (reported_.try_emplace(kernel.name).second) {
        const Skipped& skipped = next.skipped.back();
        log_line(CK_LOG_LEVEL_WARN, skipped.name + " is never chosen: " + skipped.reason);
        if (options_.on_skipped) options_.on_skipped(skipped);
      }
      return;
    }
    kernel.slot = &slots_.at(kernel.key);
    next.slots[kernel.slot->index].push_back(at);
    kernel.signature_id = next.id_of(view(kernel.signature));
    if (kernel.signature_id == no_signature) {
      kernel.signature_id = next.signatures.size();
      next.signatures.push_back(kernel.signature);
      next.blanks.push_back(Adapter::blank(view(kernel.signature)));
      next.archs.emplace_back();
    }
    std::vector<std::string>& archs = next.archs[kernel.signature_id];
    if (std::find(archs.begin(), archs.end(), kernel.arch) == archs.end()) archs.push_back(kernel.arch);
  }

  /// Registers keys that the library does not know, or knows with another priority. None is removed: kernels that are
  /// gone are unsupported, so that threads that select meanwhile never find the library's registry empty.
  void tell_library(const State& state) {
    std::unordered_map<std::string, Slot> highest;
    for (const Known<Instance, Kernel>& kernel : state.kernels) {
      Slot& slot = highest.try_emplace(kernel.key, Slot{0, {}, {}, kernel.priority}).first->second;
      slot.priority = std::max(slot.priority, kernel.priority);
    }
    std::vector<NewDescribed<Kernel>> added;
    for (const Known<Instance, Kernel>& kernel : state.kernels) {
      if (kernel.key.empty() || refused_.count(kernel.key) > 0) continue;
      const int priority = highest.at(kernel.key).priority;
      const auto [found, is_new] =
          slots_.try_emplace(kernel.key, Slot{slots_.size(), kernel.key, registered_name(kernel), priority});
      Slot& slot = found->second;
      if (!is_new && slot.priority == priority) continue;
      // A higher one replaces the kernel; for a lower one it has to be removed first.
      if (!is_new && priority < slot.priority) registry_.remove(slot.name);
      slot.priority = priority;
      added.push_back({kernel.kernel, hooks_of(slot, kernel.kernel)});
      added.back().kernel.name = slot.name;
      // Kernels of several architectures share a name; which of them runs is decided here.
      added.back().kernel.arch.clear();
    }
    if (added.empty()) return;
    try {
      registry_.add(added);
    } catch (const Error&) {
      // At least one is refused. Adding one at a time shows which.
      for (const auto& kernel : added) {
        try {
          registry_.add(kernel.kernel, kernel.hooks);
        } catch (const Error& error) {
          refused_.emplace(static_cast<const Slot*>(kernel.hooks.user)->key, error.what());
        }
      }
    }
  }

  /// The name of a kernel in the library's answers and logs: its key or, where CK's identifiers are names, its identifier,
  /// unless another kernel has the same one.
  [[nodiscard]] const std::string& registered_name(const Known<Instance, Kernel>& kernel) {
    if constexpr (Adapter::names_are_identifiers) {
      if (named_.try_emplace(kernel.name, kernel.key).first->second == kernel.key) return kernel.name;
    }
    return kernel.key;
  }

  [[nodiscard]] Hooks hooks_of(Slot& slot, const Kernel& kernel) const {
    Hooks hooks;
    hooks.user = &slot;
    hooks.priority = slot.priority;
    const auto supports = [this, index = slot.index](const auto& raw) {
      const RunningSelection* now = running_selection();
      return now != nullptr && now->core == this && now->supports(*now, index, parts_of(raw));
    };
    hooks.*Operation::supports = supports;
    if (Adapter::may_run(options_, kernel)) {
      const auto run = [this, index = slot.index](const auto& raw, void* stream) {
        const RunningSelection* now = running_selection();
        return now != nullptr && now->core == this ? now->run(*now, index, parts_of(raw), stream) : -1.0F;
      };
      hooks.*Operation::run = run;
    }
    return hooks;
  }

  template <class Problem>
  [[nodiscard]] RunningSelection ask(const State& state, const Problem& problem, const Requirement& requirement,
                           LazyOperands& operands) const noexcept {
    const auto supports = [](const RunningSelection& now, std::size_t slot, std::int32_t parts) {
      now.last = in_parts<Adapter>(*static_cast<const Problem*>(now.problem), parts, [&](const Problem& definite) {
        return chosen(*static_cast<const State*>(now.snapshot), slot, definite, now.requirement);
      });
      now.last_slot = slot;
      now.last_parts = parts;
      return now.last != nullptr;
    };
    const auto run = [](const RunningSelection& now, std::size_t slot, std::int32_t parts, void* stream) {
      return in_parts<Adapter>(*static_cast<const Problem*>(now.problem), parts, [&](const Problem& definite) {
        const auto* known = chosen(*static_cast<const State*>(now.snapshot), slot, definite, now.requirement);
        if (known == nullptr) return -1.0F;
        return Adapter::run(*known, definite, stream, static_cast<const Core*>(now.core)->options_, *now.operands);
      });
    };
    RunningSelection now{};
    now.core = this;
    now.snapshot = &state;
    now.problem = &problem;
    now.requirement = requirement;
    now.operands = &operands;
    now.supports = supports;
    now.run = run;
    return now;
  }

  /// A problem about which kernels are asked on this thread.
  template <class Problem>
  struct Running {
    Running(const Core& core, const State& state, const Problem& problem, const Requirement& requirement)
        : reads(problem), now(core.ask(state, problem, requirement, operands)), scope(now) {}
    const typename Adapter::Scope reads;
    LazyOperands operands;
    const RunningSelection now;
    const RunningScope scope;
  };

  template <class Problem, class Query>
  [[nodiscard]] Solution<Instance> find(const State& state, const Problem& problem, const Query& query) {
    Solution<Instance> solution;
    const Running<Problem> running(*this, state, problem, query.requirement);
    solution.status = registry_.try_select(query.problem, solution.selection);
    if (solution.status != Status::ok) {
      solution.reason = why_none(state, running.now);
      return solution;
    }
    const std::size_t slot = slot_of(solution.selection.user);
    const std::int32_t parts = solution.selection.split_k;
    const auto* known = in_parts<Adapter>(problem, parts, [&](const Problem& definite) {
      const auto* one = running.now.last_slot == slot && running.now.last_parts == parts
                            ? static_cast<const Known<Instance, Kernel>*>(running.now.last)
                            : chosen(state, slot, definite, query.requirement);
      // If only priorities are known, CK's own choice among equals is as good as any, and is what callers expect.
      if (solution.selection.source == Source::priority && !options_.priority) {
        if (const auto* usual = choice_of_ck(state, definite, query.requirement)) one = usual;
      }
      return one;
    });
    if (known == nullptr) {
      solution.status = Status::no_kernel;
      return solution;
    }
    solution.instance = known->instance;
    solution.selection.name = known->slot->name;
    solution.selection.user = const_cast<Slot*>(known->slot);
    return solution;
  }

  /// What the library cannot know about a problem without an answer.
  [[nodiscard]] static std::string why_none(const State& state, const RunningSelection& now) {
    const std::string why = state.why_not_on(now.requirement.signature, now.requirement.arch);
    return why.empty() ? now.fault : why;
  }

  /// The answer of the registry's own `find`, if it is a kernel that may run. It asks kernels, too, and ends with the
  /// first that throws; can_run has noted that one.
  template <class Problem>
  [[nodiscard]] const Known<Instance, Kernel>* choice_of_ck(const State& state, const Problem& problem,
                                                           const Requirement& requirement) const {
    if constexpr (is_valid<Find, CkRegistry, Problem>) {
      const typename Pointer::element_type* usual = nullptr;
      try {
        usual = ck_->find(problem);
      } catch (...) {
        return nullptr;
      }
      const auto found = state.by_instance.find(usual);
      if (found != state.by_instance.end() && can_run(state.kernels[found->second], problem, requirement)) {
        return &state.kernels[found->second];
      }
    }
    return nullptr;
  }

  /// The first kernel of a key that can run the problem.
  template <class Problem>
  [[nodiscard]] static const Known<Instance, Kernel>* chosen(const State& state, std::size_t slot,
                                                             const Problem& problem, const Requirement& requirement) {
    if (slot >= state.slots.size()) return nullptr;
    for (const std::size_t at : state.slots[slot]) {
      if (can_run(state.kernels[at], problem, requirement)) return &state.kernels[at];
    }
    return nullptr;
  }

  template <class Problem>
  [[nodiscard]] static bool can_run(const Known<Instance, Kernel>& kernel, const Problem& problem,
                                    const Requirement& requirement) {
    if (kernel.slot == nullptr || kernel.signature_id != requirement.signature) return false;
    if (!kernel.arch.empty() && !requirement.arch.empty() && kernel.arch != requirement.arch) return false;
    try {
      return Adapter::supports(*kernel.instance, problem);
    } catch (const std::exception& error) {
      note_fault(kernel.name, error.what());
    } catch (...) {
      note_fault(kernel.name, "no std::exception");
    }
    return false;
  }

  /// Adds kernels after the first, best first.
  template <class Query>
  void add_ranked(std::vector<std::size_t>& ranked, const State& state, const Query& query,
                  std::size_t limit) const {
    const auto add = [&](void* user) {
      const std::size_t slot = slot_of(user);
      if (slot >= state.slots.size()) return;
      for (const std::size_t at : state.slots[slot]) {
        if (at != ranked.front()) ranked.push_back(at);
      }
    };
    try {
      for (const Ranked& place : registry_.rank(query.problem, limit)) add(place.user);
    } catch (const Error& error) {
      if (error.status() != Status::no_model) throw;
      for (const KernelInfo& kernel : registry_.kernels()) add(kernel.user);
    }
  }

  /// Logs why there is no answer. What only the program's author can fix is logged as an error, once.
  void say(const Error& error, std::int32_t level) noexcept {
    if (dynamic_cast<const Ambiguous*>(&error) != nullptr && !ambiguity_told_.exchange(true))
      level = CK_LOG_LEVEL_ERROR;
    try {
      log_line(level, std::string("no answer: ") + error.what());
    } catch (...) {  // no memory for the line
    }
  }

  [[nodiscard]] static std::size_t slot_of(void* user) noexcept { return static_cast<const Slot*>(user)->index; }

  const CkRegistry* ck_;
  const SelectorOptions options_;

  // Only for the thread that holds the turn.
  std::mutex refreshing_;
  /// By key.
  std::unordered_map<std::string, Slot> slots_;
  std::unordered_map<std::string, std::string> refused_;
  /// By name, the key of the kernel that is registered under it.
  std::unordered_map<std::string, std::string> named_;
  /// Names that the log had. Maps, since one more kind of container costs each file that includes this.
  std::unordered_map<std::string, std::string> reported_, contradicting_;
  std::atomic<bool> ambiguity_told_{false};

  mutable std::shared_mutex publishing_;
  std::shared_ptr<const State> state_;

  Registry registry_;
};

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_CORE_HPP
