/* ck_select for CK's dispatcher: chooses among the kernels of a GroupedConvRegistry or a GEMM Registry.
 *
 *     ck_select::SelectorOptions options;
 *     options.models = {"models/conv"};
 *     ck_select::GroupedConvSelector selector(registry, options);
 *     const auto* kernel = selector.get_solution(problem);       // null when no kernel can run it
 *
 *     dispatcher.set_heuristic(selector.heuristic());            // or through the dispatcher
 *     dispatcher.set_strategy(GroupedConvDispatcher::SelectionStrategy::Heuristic);
 *
 * Templates over CK's classes: nothing of CK is included, and every revision that has the members named here will do.
 * Problems with `padding` and problems with `padding_left` and `padding_right` are told apart by the compiler, as are
 * problems that name their types, layout, architecture and dimensions.
 *
 * What it guarantees
 *   - A kernel is chosen only when its key has the problem's operation, types, layout, dimensions and architecture, and
 *     its own is_supported (GEMM: supports) says yes to the very problem object. One that throws has said no.
 *   - get_solution answers an instance, not a name, so that no name can be taken for another.
 *   - Kernels that cannot be expressed to the library are never chosen, and are listed by skipped().
 *   - Changes of the registry are followed, see Follow.
 *
 * Threads: any number may call get_solution, find, explain and heuristics at once, also while others change the registry.
 * The CK registry must outlive the selector and its heuristics.
 */

#ifndef CK_SELECT_DISPATCHER_HPP
#define CK_SELECT_DISPATCHER_HPP

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ck_select.hpp"

namespace ck_select {

/// When a selector looks whether the registry has changed. CK's registries count no changes, so that looking means
/// comparing.
enum class Follow {
  /// On every call, instance by instance, inside the registry's lock and without allocating: less than a microsecond for
  /// 30 kernels, in proportion to their number. Exact, because the selector holds what it has seen, so that no address
  /// comes twice.
  every_call,
  /// On every call, by the number of kernels alone. Misses a kernel that was replaced by another with the same key, and a
  /// removal together with an addition.
  size,
  /// Only when refresh() is called.
  told,
};

/// Where a GEMM's operands are on the device, for searches.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  /// What fused kernels read beside them; null for none.
  const void** d = nullptr;
};

/// A kernel of the registry that cannot be chosen.
struct Skipped {
  std::string name;
  std::string reason;
};

/// How a selector works. What a problem says itself goes before what is said here.
struct SelectorOptions {
  /// Of the library's registry: mode, override file, environment, architecture.
  Options registry;
  /// Model directories, or "embedded:NAME" for those that are built into the library.
  std::vector<std::string> models;
  /// The type of all operands (GEMM: of A and B) when problems name none; empty for that of the registered kernels, if
  /// they have but one.
  std::string dtype;
  /// The layout when problems name none, such as "nhwgc" or "rcr"; empty as above.
  std::string layout;
  /// The architecture when problems name none; empty for any.
  std::string arch;
  /// The number of dimensions when convolutions do not say: 2 or 3; 0 for 3 when the depth is used, else 2.
  int ndim_spatial = 0;
  Follow follow = Follow::every_call;
  /// The most names that a heuristic answers. The dispatcher takes the first that it can, so few are enough.
  std::size_t heuristic_limit = 8;
  /// What a convolution heuristic does when no kernel can run the problem. Given an empty list, most revisions of the
  /// dispatcher take any kernel of the right direction, whatever its types; so by default it throws Error.
  bool heuristic_may_answer_nothing = false;
  /// Whether selections may run convolution kernels to measure them (Mode::search, Mode::refine, `registry.search`). They run as
  /// CK's run(problem, stream) on the thread that selects, so what they read (g_conv_dispatch_buffers) must be set on it before.
  /// One that answers 0 ms, as the stubs of register_set do, and all when benchmarking is off, is not measured. CK repeats
  /// each run itself: `registry.warmup` 0 and `registry.repeats` 1 will do.
  bool run_convolutions = false;
  /// Where the operands of a GEMM of M x N x K are, for selections that may run kernels to measure them; empty for none that may.
  std::function<GemmOperands(std::int64_t m, std::int64_t n, std::int64_t k)> gemm_operands;
  /// The priority of a kernel, by name; CK's registries do not tell it. Empty for 1.
  std::function<int(const std::string&)> priority;
  /// Called for each kernel that cannot be chosen, when it is first seen.
  std::function<void(const Skipped&)> on_skipped;
};

namespace detail {

template <class Type, class = void>
struct HasPaddingLeft : std::false_type {};
template <class Type>
struct HasPaddingLeft<Type, std::void_t<decltype(std::declval<const Type&>().padding_left)>> : std::true_type {};

template <class Type, class = void>
struct HasSignature : std::false_type {};
template <class Type>
struct HasSignature<
    Type, std::void_t<decltype(std::declval<const Type&>().dtype_in), decltype(std::declval<const Type&>().dtype_wei),
                      decltype(std::declval<const Type&>().dtype_out), decltype(std::declval<const Type&>().layout)>>
    : std::true_type {};

template <class Type, class = void>
struct HasArch : std::false_type {};
template <class Type>
struct HasArch<Type, std::void_t<decltype(std::declval<const Type&>().arch)>> : std::true_type {};

template <class Type, class = void>
struct HasNdim : std::false_type {};
template <class Type>
struct HasNdim<Type, std::void_t<decltype(std::declval<const Type&>().ndim_spatial)>> : std::true_type {};

template <class Type, class = void>
struct HasExecutable : std::false_type {};
template <class Type>
struct HasExecutable<Type, std::void_t<decltype(std::declval<const Type&>().executable())>> : std::true_type {};

template <class Instance, class Problem, class = void>
struct HasRun : std::false_type {};
template <class Instance, class Problem>
struct HasRun<Instance, Problem,
              std::void_t<decltype(std::declval<const Instance&>().run(std::declval<const Problem&>(),
                                                                       static_cast<void*>(nullptr)))>>
    : std::true_type {};

template <class Instance, class Problem, class = void>
struct HasGemmRun : std::false_type {};
template <class Instance, class Problem>
struct HasGemmRun<Instance, Problem,
                  std::void_t<decltype(std::declval<const Instance&>().run(
                      static_cast<const void*>(nullptr), static_cast<const void*>(nullptr), static_cast<void*>(nullptr),
                      static_cast<const void**>(nullptr), std::declval<const Problem&>(), static_cast<void*>(nullptr)))>>
    : std::true_type {};

template <class Type, class = void>
struct HasGetAllInstances : std::false_type {};
template <class Type>
struct HasGetAllInstances<Type, std::void_t<decltype(std::declval<const Type&>().get_all_instances())>>
    : std::true_type {};

/// All instances of a registry, shared.
template <class CkRegistry>
[[nodiscard]] auto instances_of(const CkRegistry& registry) {
  if constexpr (HasGetAllInstances<CkRegistry>::value) {
    return registry.get_all_instances();
  } else {
    return registry.get_all();
  }
}

/// An architecture without its features: "gfx942" of "gfx942:xnack-".
[[nodiscard]] inline std::string_view base_arch(std::string_view arch) noexcept {
  return arch.substr(0, arch.find(':'));
}

[[nodiscard]] inline bool same_arch(std::string_view one, std::string_view other) noexcept {
  return one.empty() || other.empty() || base_arch(one) == base_arch(other);
}

/// Whether a name has a part, between underscores.
[[nodiscard]] inline bool has_part(std::string_view name, std::string_view part) noexcept {
  for (std::size_t at = name.find(part); at != std::string_view::npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (at > 0 && name[at - 1] == '_' && (end == name.size() || name[end] == '_')) return true;
  }
  return false;
}

template <class Number>
[[nodiscard]] std::string triple(Number m, Number n, Number k) {
  // Some are 8 bits wide; none is a character.
  return std::to_string(+m) + 'x' + std::to_string(+n) + 'x' + std::to_string(+k);
}

/// What a problem must agree with a kernel on, beside its architecture: words of CK's keys.
struct Signature {
  int kind = 0;  // direction and number of dimensions of a convolution
  std::string dtype_a, dtype_b, dtype_c;
  std::string layout;

  [[nodiscard]] bool operator==(const Signature& other) const noexcept {
    return kind == other.kind && dtype_a == other.dtype_a && dtype_b == other.dtype_b && dtype_c == other.dtype_c &&
           layout == other.layout;
  }
};

/// A registered kernel. `Kernel` describes it to the library.
template <class Instance, class Kernel>
struct Known {
  std::shared_ptr<Instance> instance;
  /// The name under which the library knows it; empty when it cannot be expressed, for `reason`.
  std::string key;
  Kernel kernel;
  std::string reason;
  /// What a heuristic answers.
  std::string name;
  std::string arch;
  Signature signature;
};

/// The kernels of one moment, by key and name.
template <class Instance, class Kernel>
class Snapshot {
 public:
  explicit Snapshot(std::vector<std::shared_ptr<Instance>> all) : seen(std::move(all)) {}

  std::vector<std::shared_ptr<Instance>> seen;  // in the registry's order
  std::vector<Known<Instance, Kernel>> kernels;
  /// By the library's number of a key. Kernels that share one differ in what names do not tell, as the architecture.
  std::vector<std::vector<std::size_t>> slots;
  std::vector<Signature> signatures;
  std::vector<Skipped> skipped;

  /// Kernels of the same kind whose names contain this one's: a dispatcher that looks for parts may take them instead.
  [[nodiscard]] std::vector<std::size_t> containing(std::size_t kernel) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [found, is_new] = containing_.try_emplace(kernel);
    if (is_new) {
      const Known<Instance, Kernel>& own = kernels[kernel];
      for (std::size_t other = 0; other < kernels.size(); ++other) {
        if (other != kernel && kernels[other].signature.kind / 4 == own.signature.kind / 4 &&
            kernels[other].name.find(own.name) != std::string::npos) {
          found->second.push_back(other);
        }
      }
    }
    return found->second;
  }

  [[nodiscard]] bool has(const Signature& signature) const {
    return std::find(signatures.begin(), signatures.end(), signature) != signatures.end();
  }

  /// Completes a signature from the registered ones when just one agrees with what is there. Those with the operand types that
  /// are usual go before the others.
  template <class IsUsual>
  void complete(Signature& signature, IsUsual is_usual) const {
    const auto agrees = [&](const Signature& known) {
      return known.kind == signature.kind && (signature.dtype_a.empty() || known.dtype_a == signature.dtype_a) &&
             (signature.layout.empty() || known.layout == signature.layout);
    };
    const bool only_usual = std::any_of(signatures.begin(), signatures.end(),
                                        [&](const Signature& known) { return agrees(known) && is_usual(known); });
    const Signature* found = nullptr;
    for (const Signature& known : signatures) {
      if (!agrees(known) || (only_usual && !is_usual(known))) continue;
      if (found != nullptr) {
        throw Error(Status::invalid_problem,
                    "kernels of several types or layouts are registered, and neither the problem nor the options say "
                    "which: set SelectorOptions::dtype and layout");
      }
      found = &known;
    }
    if (found == nullptr) throw Error(Status::no_kernel, "no registered kernel computes this problem");
    signature = *found;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::size_t, std::vector<std::size_t>> containing_;
};

/// A problem as the library wants it, and what its kernels must have.
template <class LibraryProblem>
struct Asked {
  LibraryProblem problem;
  Signature signature;
  std::string arch;
};

/// A selection that is running on this thread.
struct Asking {
  const void* core;
  const void* snapshot;
  const void* problem;
  std::string_view arch;
  bool (*supports)(const Asking&, std::size_t slot);
  /// Runs the kernel once, as Hooks::run_conv does.
  float (*run)(const Asking&, std::size_t slot, void* stream);
};

[[nodiscard]] inline const Asking*& asking() noexcept {
  static thread_local const Asking* now = nullptr;
  return now;
}

class AskingScope {
 public:
  explicit AskingScope(const Asking& now) noexcept : before_(asking()) { asking() = &now; }
  ~AskingScope() { asking() = before_; }
  AskingScope(const AskingScope&) = delete;
  AskingScope& operator=(const AskingScope&) = delete;

 private:
  const Asking* before_;
};

}  // namespace detail

/// A kernel, and why.
template <class Instance>
struct Solution {
  /// Null unless the status is ok. Shared: it stays good when the registry drops the kernel.
  std::shared_ptr<const Instance> instance;
  Selection selection;
  Status status = Status::no_kernel;
};

namespace detail {

/// What both operations share. `Adapter` reads CK's classes of one operation.
template <class CkRegistry, class Adapter>
class Core {
 public:
  using Pointer = typename std::decay_t<decltype(instances_of(std::declval<const CkRegistry&>()))>::value_type;
  using Instance = typename Pointer::element_type;
  using Kernel = typename Adapter::Kernel;
  using State = Snapshot<Instance, Kernel>;

  Core(const CkRegistry& registry, SelectorOptions options)
      : ck_(&registry), options_(std::move(options)), registry_(options_.registry) {
    for (const std::string& model : options_.models) registry_.load_model(model);
    refresh();
  }

  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void load_model(std::string_view directory) { registry_.load_model(directory); }

  [[nodiscard]] std::vector<Skipped> skipped() const { return state()->skipped; }

  void refresh() {
    const std::lock_guard<std::mutex> turn(refreshing_);
    read_registry();
  }

  template <class Problem>
  [[nodiscard]] Solution<Instance> find(const Problem& problem) noexcept {
    Solution<Instance> solution;
    try {
      const auto state = current();
      const auto asked = Adapter::map(problem, options_, *state);
      const Asking now = ask(*state, problem, asked.arch);
      const AskingScope scope(now);
      solution.status = registry_.try_select(asked.problem, solution.selection);
      if (solution.status == Status::ok) {
        solution.instance = chosen(*state, slot_of(solution.selection.user), problem, asked.arch);
        if (solution.instance == nullptr) solution.status = Status::no_kernel;
      }
    } catch (const Error& error) {
      solution.status = error.status();
    } catch (...) {
      solution.status = Status::panic;
    }
    return solution;
  }

  template <class Problem>
  [[nodiscard]] std::string explain(const Problem& problem) {
    const auto state = current();
    const auto asked = Adapter::map(problem, options_, *state);
    const Asking now = ask(*state, problem, asked.arch);
    const AskingScope scope(now);
    return registry_.explain(asked.problem);
  }

  /// Names for a dispatcher, best first: what find answers, then the model's ranking or, without one, the rest in order.
  template <class Problem>
  [[nodiscard]] std::vector<std::string> names(const Problem& problem) {
    std::vector<std::string> names;
    try {
      const auto state = current();
      const auto asked = Adapter::map(problem, options_, *state);
      const Asking now = ask(*state, problem, asked.arch);
      const AskingScope scope(now);
      take_names(names, *state, problem, asked, slot_of(registry_.select(asked.problem).user));
      for (const std::size_t slot : ranked_slots(asked.problem)) {
        if (names.size() >= options_.heuristic_limit) break;
        take_names(names, *state, problem, asked, slot);
      }
      if (names.empty()) {
        throw Error(Status::no_kernel, "each kernel that fits has a name that a kernel that does not fit contains");
      }
    } catch (const Error&) {
      if (Adapter::throws_without_answer && !options_.heuristic_may_answer_nothing) throw;
      names.clear();
    }
    return names;
  }

 private:
  struct Slot {
    std::size_t index;
  };

  [[nodiscard]] std::shared_ptr<const State> state() const {
    const std::shared_lock<std::shared_mutex> lock(publishing_);
    return state_;
  }

  /// The state, after a look at the registry.
  [[nodiscard]] std::shared_ptr<const State> current() {
    auto now = state();
    if (is_current(*now)) return now;
    const std::lock_guard<std::mutex> turn(refreshing_);
    // Another thread may have done it while this one waited.
    if (now = state(); is_current(*now)) return now;
    read_registry();
    return state();
  }

  [[nodiscard]] bool is_current(const State& state) const {
    switch (options_.follow) {
      case Follow::told: return true;
      case Follow::size: return ck_->size() == state.seen.size();
      case Follow::every_call: break;
    }
    struct Look {
      const State& state;
      std::size_t at = 0;
      bool same = true;
    } look{state};
    // One captured address fits into a std::function without allocating. Answering false keeps the result empty.
    (void)ck_->filter([&look](const Instance& instance) {
      look.same = look.same && look.at < look.state.seen.size() && look.state.seen[look.at].get() == &instance;
      ++look.at;
      return false;
    });
    return look.same && look.at == state.seen.size();
  }

  /// Publishes a new state, after the library knows its kernels. For the thread whose turn it is.
  void read_registry() {
    const auto all = instances_of(*ck_);
    auto next = std::make_shared<State>(std::vector<Pointer>(all.begin(), all.end()));
    for (const Pointer& instance : next->seen) {
      if (instance != nullptr) {
        next->kernels.push_back(Adapter::describe(*instance));
        next->kernels.back().instance = instance;
      }
    }
    // The registry's order is that of a hash table; ours must be the same everywhere.
    const auto rank = [](const auto& kernel) { return std::tie(kernel.key, kernel.name, kernel.arch); };
    std::stable_sort(next->kernels.begin(), next->kernels.end(),
                     [&](const auto& one, const auto& other) { return rank(one) < rank(other); });
    add_new(*next);
    next->slots.resize(slots_.size());
    for (std::size_t at = 0; at < next->kernels.size(); ++at) {
      const Known<Instance, Kernel>& kernel = next->kernels[at];
      const auto refused = refused_.find(kernel.key);
      if (kernel.key.empty() || refused != refused_.end()) {
        next->skipped.push_back({kernel.name, kernel.key.empty() ? kernel.reason : refused->second});
        if (reported_.insert(kernel.name).second && options_.on_skipped) options_.on_skipped(next->skipped.back());
        continue;
      }
      next->slots[places_.at(kernel.key)].push_back(at);
      auto& known = next->signatures;
      if (std::find(known.begin(), known.end(), kernel.signature) == known.end()) known.push_back(kernel.signature);
    }
    registry_.prepare();
    const std::unique_lock<std::shared_mutex> lock(publishing_);
    state_ = std::move(next);
  }

  /// Tells the library about keys that it does not know. It is never told to forget one: kernels that are gone are
  /// unsupported, so that threads which select meanwhile never find it empty.
  void add_new(const State& state) {
    std::vector<typename Adapter::New> added;
    for (const Known<Instance, Kernel>& kernel : state.kernels) {
      if (kernel.key.empty() || places_.count(kernel.key) > 0) continue;
      places_.emplace(kernel.key, slots_.size());
      Slot& slot = slots_.emplace_back(Slot{slots_.size()});
      Hooks hooks;
      hooks.user = &slot;
      if (options_.priority) hooks.priority = options_.priority(kernel.name);
      const auto supports = [this, index = slot.index](const auto&) {
        const Asking* now = asking();
        return now != nullptr && now->core == this && now->supports(*now, index);
      };
      hooks.supports_conv = supports;
      hooks.supports_gemm = supports;
      if (Adapter::may_run(options_)) {
        const auto run = [this, index = slot.index](const auto&, void* stream) {
          const Asking* now = asking();
          return now != nullptr && now->core == this ? now->run(*now, index, stream) : -1.0F;
        };
        hooks.run_conv = run;
        hooks.run_gemm = run;
      }
      added.push_back({kernel.kernel, std::move(hooks)});
      added.back().kernel.name = kernel.key;
      // Kernels of several architectures share a name; which of them runs is decided here.
      added.back().kernel.arch.clear();
    }
    if (added.empty()) return;
    try {
      Adapter::add(registry_, added);
    } catch (const Error&) {
      // At least one is refused. One at a time tells which.
      for (const auto& kernel : added) {
        try {
          registry_.add(kernel.kernel, kernel.hooks);
        } catch (const Error& error) {
          refused_.emplace(kernel.kernel.name, error.what());
        }
      }
    }
  }

  template <class Problem>
  [[nodiscard]] Asking ask(const State& state, const Problem& problem, const std::string& arch) const noexcept {
    const auto supports = [](const Asking& now, std::size_t slot) {
      return chosen(*static_cast<const State*>(now.snapshot), slot, *static_cast<const Problem*>(now.problem),
                    now.arch) != nullptr;
    };
    const auto run = [](const Asking& now, std::size_t slot, void* stream) {
      const Problem& asked = *static_cast<const Problem*>(now.problem);
      const auto instance = chosen(*static_cast<const State*>(now.snapshot), slot, asked, now.arch);
      if (instance == nullptr) return -1.0F;
      return Adapter::run(*instance, asked, stream, static_cast<const Core*>(now.core)->options_);
    };
    return {this, &state, &problem, arch, supports, run};
  }

  /// The first kernel of a key that can run the problem.
  template <class Problem>
  [[nodiscard]] static std::shared_ptr<const Instance> chosen(const State& state, std::size_t slot,
                                                              const Problem& problem, std::string_view arch) {
    if (slot >= state.slots.size()) return nullptr;
    for (const std::size_t at : state.slots[slot]) {
      if (can_run(state.kernels[at], problem, arch)) return state.kernels[at].instance;
    }
    return nullptr;
  }

  template <class Problem>
  [[nodiscard]] static bool can_run(const Known<Instance, Kernel>& kernel, const Problem& problem, std::string_view arch) {
    try {
      return same_arch(kernel.arch, arch) && Adapter::supports(*kernel.instance, problem);
    } catch (...) {
      return false;
    }
  }

  /// Adds the names of a key's kernels, unless the dispatcher could take one for a kernel that must not run.
  template <class Problem, class AskedProblem>
  void take_names(std::vector<std::string>& names, const State& state, const Problem& problem,
                  const AskedProblem& asked, std::size_t slot) const {
    const auto fits = [&](std::size_t at) {
      const Known<Instance, Kernel>& kernel = state.kernels[at];
      return kernel.signature == asked.signature && can_run(kernel, problem, asked.arch);
    };
    if (slot >= state.slots.size()) return;
    for (const std::size_t at : state.slots[slot]) {
      const std::string& name = state.kernels[at].name;
      if (name.empty() || !fits(at) || std::find(names.begin(), names.end(), name) != names.end()) continue;
      if constexpr (Adapter::matches_parts) {
        const auto others = state.containing(at);
        if (!std::all_of(others.begin(), others.end(), fits)) continue;
      }
      names.push_back(name);
    }
  }

  template <class LibraryProblem>
  [[nodiscard]] std::vector<std::size_t> ranked_slots(const LibraryProblem& problem) const {
    std::vector<std::size_t> slots;
    try {
      for (const Ranked& place : registry_.rank(problem)) slots.push_back(slot_of(place.user));
    } catch (const Error& error) {
      if (error.status() != Status::no_model) throw;
      for (const KernelInfo& kernel : registry_.kernels()) slots.push_back(slot_of(kernel.user));
    }
    return slots;
  }

  [[nodiscard]] static std::size_t slot_of(void* user) noexcept { return static_cast<const Slot*>(user)->index; }

  const CkRegistry* ck_;
  const SelectorOptions options_;

  // Of the thread whose turn it is.
  std::mutex refreshing_;
  std::deque<Slot> slots_;
  std::unordered_map<std::string, std::size_t> places_;
  std::unordered_map<std::string, std::string> refused_;
  std::unordered_set<std::string> reported_;

  mutable std::shared_mutex publishing_;
  std::shared_ptr<const State> state_;

  Registry registry_;
};

/// A part of a name that is there only when it is not the default.
inline void push_number(std::string& name, const char* prefix, int value) {
  if (value != 1) name += prefix + std::to_string(value);
}

/// A layout without the letters that only repeat the number of dimensions: "nwgc" of "nhwgc" and of "ndhwgc".
[[nodiscard]] inline std::string order_of(std::string_view layout) {
  std::string order(layout.substr(0, layout.find('_')));
  order.erase(std::remove_if(order.begin(), order.end(), [](char letter) { return letter == 'd' || letter == 'h'; }),
              order.end());
  return order;
}

/// Reads GroupedConvProblem, GroupedConvKernelKey and GroupedConvKernelInstance.
struct ConvAdapter {
  using Kernel = ConvKernel;
  using New = NewConvKernel;

  /// The dispatcher takes the first kernel whose name contains what a heuristic answers.
  static constexpr bool matches_parts = true;
  static constexpr bool throws_without_answer = true;

  template <class Op>
  [[nodiscard]] static Direction direction_of(Op op) noexcept {
    return op == Op::Forward ? Direction::forward : op == Op::BackwardData ? Direction::bwd_data : Direction::bwd_weight;
  }

  [[nodiscard]] static int kind_of(Direction direction, int ndim) noexcept {
    return static_cast<int>(direction) * 4 + ndim;
  }

  template <class Instance>
  [[nodiscard]] static Known<Instance, Kernel> describe(const Instance& instance) {
    const auto& key = instance.key();
    Known<Instance, Kernel> known;
    known.name = instance.name();
    known.arch = key.arch;
    const Direction direction = direction_of(key.op);
    known.signature = {kind_of(direction, key.ndim_spatial), key.dtype_in, key.dtype_wei, key.dtype_out,
                       order_of(key.layout)};
    if constexpr (HasExecutable<Instance>::value) {
      if (!instance.executable()) known.reason = "it cannot be executed";
    }
    if (known.reason.empty()) {
      try {
        known.kernel = kernel_of(key, known.name, direction);
        known.key = long_name(key, known.name, direction);
      } catch (const Error& error) {
        known.reason = error.what();
      }
    }
    return known;
  }

  /// All that a key says, and what only the name does.
  template <class Key>
  [[nodiscard]] static ConvKernel kernel_of(const Key& key, const std::string& name, Direction direction) {
    ConvKernel kernel;
    kernel.direction = direction;
    kernel.ndim = key.ndim_spatial;
    kernel.dtype_in = dtype(key.dtype_in);
    kernel.dtype_wei = dtype(key.dtype_wei);
    kernel.dtype_out = dtype(key.dtype_out);
    kernel.layout = layout(order_of(key.layout), key.ndim_spatial);
    kernel.tile = {key.tile_m, key.tile_n, key.tile_k};
    kernel.wave = {key.wave_m, key.wave_n, key.wave_k};
    kernel.warp_tile = {key.warp_m, key.warp_n, key.warp_k};
    kernel.vector = {key.vector_size_a, key.vector_size_b, key.vector_size_c};
    kernel.pipeline = key.pipeline;
    kernel.scheduler = key.scheduler;
    kernel.epilogue = key.epilogue;
    kernel.specialization = key.specialization;
    kernel.block_per_cu = key.block_per_cu;
    kernel.num_wave_groups = key.num_wave_groups;
    kernel.num_groups_to_merge = key.num_groups_to_merge;
    kernel.split_image = key.large_tensor;
    if (key.streamk_enabled) {
      kernel.stream_k_reduction = key.streamk_reduction;
      kernel.stream_k_persistent = key.streamk_persistent;
    }
    kernel.double_smem_buffer = has_part(name, "dsb");
    kernel.two_stage = has_part(name, "2stage");
    kernel.explicit_gemm = has_part(name, "explicit_gemm");
    return kernel;
  }

  /// The name that CK's code generator would give, with the types that it leaves out: every field but the architecture.
  template <class Key>
  [[nodiscard]] static std::string long_name(const Key& key, const std::string& instance_name, Direction direction) {
    const char* words[] = {"fwd", "bwd_data", "bwd_weight"};
    std::string name = std::string("grouped_conv_") + words[static_cast<int>(direction)] + '_' + key.dtype_in + '_' +
                       key.layout.substr(0, key.layout.find('_')) + '_' + std::to_string(key.ndim_spatial) + "d_" +
                       key.pipeline + '_' + key.epilogue + '_' + key.scheduler + '_' +
                       triple(key.tile_m, key.tile_n, key.tile_k) + '_' + triple(key.wave_m, key.wave_n, key.wave_k) +
                       '_' + triple(key.warp_m, key.warp_n, key.warp_k);
    if (key.vector_size_a != 4 || key.vector_size_b != 8 || key.vector_size_c != 8) {
      name += "_vec" + std::to_string(key.vector_size_a) + '_' + std::to_string(key.vector_size_b) + '_' +
              std::to_string(key.vector_size_c);
    }
    push_number(name, "_bpc", key.block_per_cu);
    push_number(name, "_wg", key.num_wave_groups);
    push_number(name, "_gm", key.num_groups_to_merge);
    // Three properties that keys do not have.
    if (has_part(instance_name, "dsb")) name += "_dsb";
    if (has_part(instance_name, "2stage")) name += "_2stage";
    if (key.specialization != "default") name += '_' + key.specialization;
    if (has_part(instance_name, "explicit_gemm")) name += "_explicit_gemm";
    if (key.streamk_enabled) {
      name += "_streamk_" + key.streamk_reduction;
      if (key.streamk_persistent) name += "_persistent";
    }
    if (key.large_tensor) name += "_large_tensor";
    // What no name of CK's tells.
    if (key.dtype_wei != key.dtype_in) name += "_wei_" + key.dtype_wei;
    if (key.dtype_out != key.dtype_in) name += "_out_" + key.dtype_out;
    return name;
  }

  static void add(Registry& registry, const std::vector<NewConvKernel>& kernels) { registry.add_conv(kernels); }

  [[nodiscard]] static bool may_run(const SelectorOptions& options) noexcept { return options.run_convolutions; }

  template <class Instance, class Problem>
  [[nodiscard]] static float run(const Instance& instance, const Problem& problem, void* stream,
                                 const SelectorOptions&) {
    if constexpr (HasRun<Instance, Problem>::value) {
      const float ms = instance.run(problem, stream);
      return ms > 0 ? ms : -1.0F;
    } else {
      return -1.0F;
    }
  }

  template <class Problem, class State>
  [[nodiscard]] static Asked<ConvProblem> map(const Problem& problem, const SelectorOptions& options,
                                              const State& state) {
    Asked<ConvProblem> asked;
    const Direction direction = direction_of(problem.op);
    ck_conv_problem& raw = asked.problem.direction(direction).capi();
    raw.ndim = dimensions(problem, options);
    raw.n = problem.N;
    raw.c = problem.C;
    raw.k = problem.K;
    raw.g = problem.G;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      raw.input[axis] = problem.input_spatial[axis];
      raw.filter[axis] = problem.filter_spatial[axis];
      raw.stride[axis] = problem.stride[axis];
      raw.dilation[axis] = problem.dilation[axis];
      if constexpr (HasPaddingLeft<Problem>::value) {
        raw.pad_left[axis] = problem.padding_left[axis];
        raw.pad_right[axis] = problem.padding_right[axis];
      } else {
        raw.pad_left[axis] = raw.pad_right[axis] = problem.padding[axis];
      }
    }
    raw.split_k = problem.split_k;
    asked.arch = options.arch;
    if constexpr (HasArch<Problem>::value) {
      if (!problem.arch.empty()) asked.arch = problem.arch;
    }
    asked.problem.arch(asked.arch);

    Signature& signature = asked.signature;
    signature = {kind_of(direction, raw.ndim), options.dtype, options.dtype, options.dtype, order_of(options.layout)};
    if constexpr (HasSignature<Problem>::value) {
      if (!problem.dtype_in.empty()) {
        signature.dtype_a = problem.dtype_in;
        signature.dtype_b = problem.dtype_wei;
        signature.dtype_c = problem.dtype_out;
      }
      if (!problem.layout.empty()) signature.layout = order_of(problem.layout);
    }
    if (signature.dtype_a.empty() || signature.layout.empty()) {
      state.complete(signature, [](const Signature& known) {
        return known.dtype_a == known.dtype_b && known.dtype_a == known.dtype_c;
      });
    }
    asked.problem.dtypes(dtype(signature.dtype_a), dtype(signature.dtype_b), dtype(signature.dtype_c));
    asked.problem.layout(layout(signature.layout, raw.ndim));
    return asked;
  }

  template <class Instance, class Problem>
  [[nodiscard]] static bool supports(const Instance& instance, const Problem& problem) {
    return instance.is_supported(problem);
  }

 private:
  template <class Problem>
  [[nodiscard]] static int dimensions(const Problem& problem, const SelectorOptions& options) noexcept {
    if constexpr (HasNdim<Problem>::value) {
      return problem.ndim_spatial;
    } else {
      if (options.ndim_spatial != 0) return options.ndim_spatial;
      return problem.input_spatial[0] > 1 || problem.filter_spatial[0] > 1 ? 3 : 2;
    }
  }

  [[nodiscard]] static Dtype dtype(const std::string& word) {
    if (const auto known = dtype_from(word)) return *known;
    throw Error(Status::invalid_problem, "dtype: unknown word '" + word + "'");
  }

  /// The word of an order for a number of dimensions: "nhwgc" of "nwgc" in two.
  [[nodiscard]] static ConvLayout layout(const std::string& order, int ndim) {
    std::string word = order;
    const std::size_t width = word.find('w');
    if (width != std::string::npos) word.insert(width, ndim == 2 ? "h" : ndim == 3 ? "dh" : "");
    if (const auto known = layout_from(word)) return *known;
    throw Error(Status::invalid_problem, "layout: unknown order '" + order + "'");
  }
};

template <class Type, class = void>
struct HasPads : std::false_type {};
template <class Type>
struct HasPads<Type, std::void_t<decltype(std::declval<const Type&>().pad_m)>> : std::true_type {};

/// Reads Problem, KernelKey and KernelInstance.
struct GemmAdapter {
  using Kernel = GemmKernel;
  using New = NewGemmKernel;

  /// The dispatcher looks identifiers up exactly, and asks `supports` itself.
  static constexpr bool matches_parts = false;
  static constexpr bool throws_without_answer = false;

  template <class Instance>
  [[nodiscard]] static Known<Instance, Kernel> describe(const Instance& instance) {
    const auto& key = instance.get_key();
    Known<Instance, Kernel> known;
    known.name = key.encode_identifier();
    if constexpr (std::is_convertible_v<decltype(key.gfx_arch), std::string>) known.arch = key.gfx_arch;
    const auto& signature = key.signature;
    // CK's own to_string, found beside its enums.
    known.signature = {0, to_string(signature.dtype_a), to_string(signature.dtype_b), to_string(signature.dtype_c),
                       to_string(signature.layout_a) + to_string(signature.layout_b) + to_string(signature.layout_c)};
    // A problem of the dispatcher's asks for neither.
    if (signature.transpose_a || signature.transpose_b) {
      known.reason = "it transposes an operand";
    } else if (signature.grouped) {
      known.reason = "it is a grouped GEMM";
    } else {
      try {
        known.kernel = kernel_of(key, known.signature);
        known.key = identifier(key, known.signature);
      } catch (const Error& error) {
        known.reason = error.what();
      }
    }
    return known;
  }

  /// All that a key says.
  template <class Key>
  [[nodiscard]] static GemmKernel kernel_of(const Key& key, const Signature& types) {
    const auto& signature = key.signature;
    const auto& algorithm = key.algorithm;
    GemmKernel kernel;
    kernel.dtype_a = type(types.dtype_a);
    kernel.dtype_b = type(types.dtype_b);
    kernel.dtype_c = type(types.dtype_c);
    kernel.dtype_acc = type(to_string(signature.dtype_acc));
    kernel.layout_a = major(types.layout, 0);
    kernel.layout_b = major(types.layout, 1);
    kernel.layout_c = major(types.layout, 2);
    kernel.split_k = std::max(+signature.split_k, 1);
    kernel.elementwise = signature.elementwise_op;
    kernel.num_d_tensors = signature.num_d_tensors;
    kernel.structured_sparsity = signature.structured_sparsity;
    kernel.tile = {algorithm.tile_shape.m, algorithm.tile_shape.n, algorithm.tile_shape.k};
    kernel.wave = {algorithm.wave_shape.m, algorithm.wave_shape.n, algorithm.wave_shape.k};
    kernel.warp_tile = {algorithm.warp_tile_shape.m, algorithm.warp_tile_shape.n, algorithm.warp_tile_shape.k};
    // Kernels of revisions without these fields pad everything.
    if constexpr (HasPads<std::decay_t<decltype(algorithm)>>::value) {
      kernel.pad = {algorithm.pad_m, algorithm.pad_n, algorithm.pad_k};
    }
    kernel.pipeline = to_string(algorithm.pipeline);
    kernel.scheduler = to_string(algorithm.scheduler);
    kernel.epilogue = to_string(algorithm.epilogue);
    kernel.block_size = algorithm.block_size;
    kernel.double_buffer = algorithm.double_buffer;
    kernel.persistent = algorithm.persistent;
    kernel.preshuffle = algorithm.preshuffle;
    kernel.transpose_c = algorithm.transpose_c;
    kernel.num_wave_groups = std::max(+algorithm.num_wave_groups, 1);
    return kernel;
  }

  /// The identifier of the newest dispatchers, whatever this one's `encode_identifier` writes, with the types that it leaves out.
  template <class Key>
  [[nodiscard]] static std::string identifier(const Key& key, const Signature& types) {
    const auto& signature = key.signature;
    const auto& algorithm = key.algorithm;
    const auto flag = [](bool on) { return on ? "_True" : "_False"; };
    std::string name = types.dtype_a + '_' + types.layout + '_' + to_string(algorithm.pipeline) + '_' +
                       to_string(algorithm.epilogue) + '_' + to_string(algorithm.scheduler);
    using Algorithm = std::decay_t<decltype(algorithm)>;
    if constexpr (HasPads<Algorithm>::value) {
      name = name + flag(algorithm.pad_m) + flag(algorithm.pad_n) + flag(algorithm.pad_k);
    } else {
      name += "_True_True_True";  // kernels of such revisions pad everything
    }
    name += flag(algorithm.persistent);
    name += '_' + triple(algorithm.tile_shape.m, algorithm.tile_shape.n, algorithm.tile_shape.k);
    name += '_' + triple(algorithm.wave_shape.m, algorithm.wave_shape.n, algorithm.wave_shape.k);
    name += '_' + triple(algorithm.warp_tile_shape.m, algorithm.warp_tile_shape.n, algorithm.warp_tile_shape.k);
    if (signature.split_k > 1) name += "_splitk" + std::to_string(+signature.split_k);
    if (!signature.elementwise_op.empty() && signature.elementwise_op != "PassThrough") {
      name += '_' + signature.elementwise_op;
    }
    if (signature.num_d_tensors > 0) name += "_d" + std::to_string(+signature.num_d_tensors);
    if (signature.structured_sparsity) name += "_sparse";
    if (algorithm.preshuffle) name += "_preshuffle";
    // What identifiers do not tell.
    const Signature expected = expected_signature(types.dtype_a, types.layout);
    if (types.dtype_b != expected.dtype_b) name += "_b_" + types.dtype_b;
    if (types.dtype_c != expected.dtype_c) name += "_c_" + types.dtype_c;
    return name;
  }

  static void add(Registry& registry, const std::vector<NewGemmKernel>& kernels) { registry.add_gemm(kernels); }

  [[nodiscard]] static bool may_run(const SelectorOptions& options) noexcept {
    return static_cast<bool>(options.gemm_operands);
  }

  template <class Instance, class Problem>
  [[nodiscard]] static float run(const Instance& instance, const Problem& problem, void* stream,
                                 const SelectorOptions& options) {
    if constexpr (HasGemmRun<Instance, Problem>::value) {
      const GemmOperands operands = options.gemm_operands(problem.M, problem.N, problem.K);
      // 0 when the kernel does not time itself: then events do.
      return instance.run(operands.a, operands.b, operands.c, operands.d, problem, stream);
    } else {
      return -1.0F;
    }
  }

  template <class Problem, class State>
  [[nodiscard]] static Asked<GemmProblem> map(const Problem& problem, const SelectorOptions& options,
                                              const State& state) {
    Asked<GemmProblem> asked;
    asked.problem.size(problem.M, problem.N, problem.K).split_k(problem.k_batch).arch(options.arch);
    asked.arch = options.arch;
    Signature& signature = asked.signature;
    signature = expected_signature(options.dtype, options.layout);
    // The usual types, unless only kernels of others are registered.
    if (!options.dtype.empty()) (void)type(options.dtype);
    if (!options.layout.empty()) (void)major(options.layout, 0);
    if (options.dtype.empty() || options.layout.empty() || !state.has(signature)) {
      state.complete(signature,
                     [](const Signature& known) { return known == expected_signature(known.dtype_a, known.layout); });
    }
    asked.problem.dtypes(type(signature.dtype_a), type(signature.dtype_b), type(signature.dtype_c));
    asked.problem.layout(major(signature.layout, 0), major(signature.layout, 1), major(signature.layout, 2));
    return asked;
  }

  template <class Instance, class Problem>
  [[nodiscard]] static bool supports(const Instance& instance, const Problem& problem) {
    return instance.supports(problem);
  }

 private:
  [[nodiscard]] static Dtype type(const std::string& word) {
    if (const auto known = dtype_from(word)) return *known;
    throw Error(Status::invalid_problem, "dtype: unknown word '" + word + "'");
  }

  [[nodiscard]] static Major major(const std::string& layout, std::size_t operand) {
    const auto known = layout.size() == 3 ? major_from(std::string_view(layout).substr(operand, 1)) : std::nullopt;
    if (known) return *known;
    throw Error(Status::invalid_problem, "layout: found '" + layout + "', expected three of r, c and p");
  }

  /// Identifiers name A's type only; these are the ones that they imply.
  [[nodiscard]] static Signature expected_signature(const std::string& dtype, const std::string& layout) {
    const bool is_float8 = dtype == "fp8" || dtype == "bf8";
    return {0, dtype, dtype, is_float8 ? "fp16" : dtype == "int8" ? "int32" : dtype, layout};
  }
};

/// What both selectors offer.
template <class CkRegistry, class Adapter>
class Selector {
  using Inner = Core<CkRegistry, Adapter>;

 public:
  using Instance = typename Inner::Instance;

  /// Reads the registry and the models of the options; throws Error when one cannot be loaded.
  explicit Selector(const CkRegistry& registry, SelectorOptions options = {})
      : core_(std::make_shared<Inner>(registry, std::move(options))) {}

  /// The kernel to run; null when none can. Good as long as the registry keeps the kernel; find() answers a shared one.
  template <class Problem>
  [[nodiscard]] const Instance* get_solution(const Problem& problem) const noexcept {
    return core_->find(problem).instance.get();
  }

  /// The same with score, source and status.
  template <class Problem>
  [[nodiscard]] Solution<Instance> find(const Problem& problem) const noexcept {
    return core_->find(problem);
  }

  /// Which sources are asked and what each answers, as text; throws Error for a problem that cannot be asked about.
  template <class Problem>
  [[nodiscard]] std::string explain(const Problem& problem) const {
    return core_->explain(problem);
  }

  /// For the dispatcher's set_heuristic: from a problem to names, best first. It may outlive the selector, but not the
  /// registry.
  [[nodiscard]] auto heuristic() const {
    return [core = core_](const auto& problem) { return core->names(problem); };
  }

  /// Reads the registry again now.
  void refresh() { core_->refresh(); }

  /// Loads or replaces a model while other threads select.
  void load_model(std::string_view directory) { core_->load_model(directory); }

  /// The registered kernels that are never chosen, and why.
  [[nodiscard]] std::vector<Skipped> skipped() const { return core_->skipped(); }

 private:
  std::shared_ptr<Inner> core_;
};

}  // namespace detail

/// Chooses among the kernels of a GroupedConvRegistry. A heuristic answers full registered names; the dispatcher looks
/// for kernels that contain a name, so one is answered only when every kernel whose name contains it can run the problem,
/// too. Call set_strategy of the dispatcher beside set_heuristic.
template <class CkRegistry>
class GroupedConvSelector : public detail::Selector<CkRegistry, detail::ConvAdapter> {
 public:
  using detail::Selector<CkRegistry, detail::ConvAdapter>::Selector;
};
template <class CkRegistry>
GroupedConvSelector(const CkRegistry&) -> GroupedConvSelector<CkRegistry>;
template <class CkRegistry>
GroupedConvSelector(const CkRegistry&, SelectorOptions) -> GroupedConvSelector<CkRegistry>;

/// Chooses among the kernels of a GEMM Registry. A heuristic answers identifiers, as encode_identifier writes them.
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

#endif  // CK_SELECT_DISPATCHER_HPP
