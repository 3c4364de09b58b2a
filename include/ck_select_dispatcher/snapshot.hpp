/* What a selector knows about a registry at one moment, and what is requested from it. */

#ifndef CK_SELECT_DISPATCHER_SNAPSHOT_HPP
#define CK_SELECT_DISPATCHER_SNAPSHOT_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "members.hpp"
#include "operands.hpp"
#include "options.hpp"
#include "registry.hpp"

namespace ck_select::detail {

/// What has to be equal in a problem and a kernel, besides the architecture: words of CK's keys, compared exactly. Two
/// layouts with equal first parts but another order of the weight are two layouts.
template <class Text>
struct BasicSignature {
  int kind = 0;  // convolution: direction and number of dimensions; GEMM: how Stream-K reduces
  Text dtype_a, dtype_b, dtype_c;
  Text layout;

  template <class Other>
  [[nodiscard]] bool operator==(const BasicSignature<Other>& other) const noexcept {
    return kind == other.kind && dtype_a == other.dtype_a && dtype_b == other.dtype_b && dtype_c == other.dtype_c &&
           layout == other.layout;
  }
};
using Signature = BasicSignature<std::string>;
using SignatureView = BasicSignature<std::string_view>;

[[nodiscard]] inline SignatureView view(const Signature& of) noexcept {
  return {of.kind, of.dtype_a, of.dtype_b, of.dtype_c, of.layout};
}

/// A target without its features: "gfx950" of "gfx950:sramecc+:xnack-".
[[nodiscard]] inline std::string_view base_of(std::string_view target) noexcept {
  return target.substr(0, target.find(':'));
}

/// The type that a word of CK's means.
[[nodiscard]] inline Dtype dtype_of(std::string_view word, const char* field = "dtype",
                                    Status status = Status::invalid_problem) {
  if (const auto known = dtype_from(word)) return *known;
  throw Error(status, std::string(field) + ": unknown word '" + std::string(word) + "'");
}

/// Kernels of several types or layouts are registered, and nothing says which are meant.
class Ambiguous : public Error {
 public:
  using Error::Error;
};

/// The library's user pointer of a kernel.
struct Slot {
  std::size_t index;
  /// What tells kernels apart here.
  std::string key;
  /// The name under which the library knows it.
  std::string name;
  int priority;
};

inline constexpr std::size_t no_signature = static_cast<std::size_t>(-1);

/// A registered kernel. `Kernel` is its description for the library.
template <class Instance, class Kernel>
struct Known {
  std::shared_ptr<Instance> instance;
  /// What tells kernels apart for the library; empty if it cannot be expressed, with the `reason`.
  std::string key;
  Kernel kernel;
  std::string reason;
  /// Where name and key disagree.
  std::string contradiction;
  /// The name that a heuristic returns.
  std::string name;
  std::string arch;
  Signature signature;
  /// Its place among the state's signatures.
  std::size_t signature_id = no_signature;
  /// Its place in the registry's order.
  std::size_t place = 0;
  int priority = 1;
  const Slot* slot = nullptr;
};

/// The kernels of one moment, by key and name.
template <class Instance, class Kernel, class LibraryProblem>
class Snapshot {
 public:
  /// In the registry's order.
  std::vector<std::shared_ptr<Instance>> seen;
  std::vector<int> priorities;
  std::vector<Known<Instance, Kernel>> kernels;
  std::unordered_map<const Instance*, std::size_t> by_instance;
  /// By the library's number of a key. Kernels that share one differ in what names do not contain, such as the
  /// architecture.
  std::vector<std::vector<std::size_t>> slots;
  std::vector<Signature> signatures;
  /// For each signature the architectures of its kernels; the empty one is any.
  std::vector<std::vector<std::string>> archs;
  /// For each signature a problem with its values: words are parsed once, not for each problem.
  std::vector<LibraryProblem> blanks;
  std::vector<Skipped> skipped;
  std::vector<Contradiction> contradictions;
  /// For Follow::in_turn: what its hash table had or, if it does not show that, how often it was looked at.
  Buckets<Instance> buckets;
  mutable std::atomic<std::size_t> looks{0};

  /// The kernels of the same operation whose names contain this one's, including itself, in the registry's order: CK's
  /// convolution dispatcher takes the first of these for the name.
  [[nodiscard]] const std::vector<std::size_t>& containing(std::size_t kernel) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    containing_.resize(kernels.size());
    std::vector<std::size_t>& all = containing_[kernel];
    if (all.empty()) {
      const Known<Instance, Kernel>& own = kernels[kernel];
      for (std::size_t other = 0; other < kernels.size(); ++other) {
        if (kernels[other].signature.kind / 4 == own.signature.kind / 4 &&
            kernels[other].name.find(own.name) != std::string::npos) {
          all.push_back(other);
        }
      }
      std::sort(all.begin(), all.end(),
                [this](std::size_t one, std::size_t two) { return kernels[one].place < kernels[two].place; });
    }
    return all;
  }

  /// The place of a signature; no_signature if no kernel has it.
  [[nodiscard]] std::size_t id_of(const SignatureView& signature) const noexcept {
    const auto found = std::find(signatures.begin(), signatures.end(), signature);
    return found == signatures.end() ? no_signature : static_cast<std::size_t>(found - signatures.begin());
  }

  /// What kernels of a signature name for a GPU: its whole text as HIP reports it, with features such as ":xnack-", or the
  /// part before them if they name only that.
  [[nodiscard]] std::string_view arch_of(std::size_t signature, std::string_view text) const noexcept {
    const std::string_view base = base_of(text);
    if (signature == no_signature || base.size() == text.size()) return text;
    const auto& known = archs[signature];
    const auto is_named = [&](std::string_view arch) {
      return std::find(known.begin(), known.end(), arch) != known.end();
    };
    return !is_named(text) && is_named(base) ? base : text;
  }

  /// Why no kernel of a signature is for an architecture; empty if one is.
  [[nodiscard]] std::string why_not_on(std::size_t signature, std::string_view arch) const {
    if (signature == no_signature || arch.empty()) return {};
    std::string known;
    for (const std::string& one : archs[signature]) {
      if (one.empty() || one == arch) return {};
      known += (known.empty() ? "" : ", ") + one;
    }
    return "no registered kernel is for " + std::string(arch) + ", but for " + known;
  }

  /// Completes a signature from the registered ones if exactly one agrees with the given part. Those with the usual
  /// operand types take precedence.
  template <class IsUsual>
  void complete(SignatureView& signature, IsUsual is_usual) const {
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
        const auto words = [](const Signature& one) { return one.dtype_a + " " + one.layout; };
        throw Ambiguous(
            Status::invalid_problem,
            "kernels of several types or layouts are registered (" + words(*found) + ", " + words(known) +
                "), and neither the problem nor the options say which: set SelectorOptions::dtype and layout");
      }
      found = &known;
    }
    if (found == nullptr) {
      throw Error(Status::no_kernel, "no registered kernel has the problem's operation, types and layout");
    }
    signature = view(*found);
  }

 private:
  mutable std::mutex mutex_;
  /// By kernel; empty until it is needed.
  mutable std::vector<std::vector<std::size_t>> containing_;
};

/// What a kernel must have for one problem: a signature of the snapshot, and an architecture, whose text is part of the
/// problem's or the options'.
struct Requirement {
  std::size_t signature = no_signature;
  std::string_view arch;
};

/// A problem in the library's form, and what its kernels must have.
template <class LibraryProblem>
struct Query {
  LibraryProblem problem;
  Requirement requirement;
};

/// A problem of a signature and an architecture, without extents.
template <class Adapter, class State>
[[nodiscard]] auto blank_query(const SignatureView& signature, std::string_view arch, const State& state) {
  const std::size_t id = state.id_of(signature);
  Query<typename Adapter::LibraryProblem> query{id == no_signature ? Adapter::blank(signature) : state.blanks[id],
                                                {id, state.arch_of(id, arch)}};
  query.problem.arch(arch);
  return query;
}

/// The operands of one search, allocated when its first kernel runs.
class LazyOperands {
 public:
  template <class Extents>
  [[nodiscard]] const SearchOperands& get(const DeviceMemory& memory, Extents extents) {
    if (failed_) throw Error(Status::io, "the operands of this search could not be made");
    if (!made_) {
      try {
        made_.emplace(memory, extents());
      } catch (const std::exception& error) {
        failed_ = true;
        log_line(CK_LOG_LEVEL_WARN, std::string("nothing is measured: ") + error.what());
        throw;
      }
    }
    return *made_;
  }

 private:
  std::optional<SearchOperands> made_;
  bool failed_ = false;
};

/// A selection that is running on this thread.
struct RunningSelection {
  const void* core;
  const void* snapshot;
  const void* problem;
  Requirement requirement;
  LazyOperands* operands;
  bool (*supports)(const RunningSelection&, std::size_t slot, std::int32_t parts);
  /// Runs the kernel once, as Hooks::run_conv does.
  float (*run)(const RunningSelection&, std::size_t slot, std::int32_t parts, void* stream);
  /// The last kernel that was asked and can run: the library usually answers with it, so it need not be asked again.
  mutable std::size_t last_slot = no_signature;
  mutable std::int32_t last_parts = 0;
  mutable const void* last = nullptr;
  /// The first kernel whose question threw, and its message.
  mutable std::string fault = {};
};

/// The parts into which the reduction of a problem is split, as the library asks about it.
template <class Raw>
[[nodiscard]] std::int32_t parts_of(const Raw& problem) noexcept {
  if constexpr (is_valid<SplitK, Raw>) return problem.split_k;
  else return 1;
}

/// Calls `body` with a problem of CK's, in this many parts if it leaves the choice (with 0).
template <class Adapter, class Problem, class Body>
auto in_parts(const Problem& problem, std::int32_t parts, Body body) {
  if constexpr (Adapter::is_split) {
    if (Adapter::parts(problem) == 0) {
      Problem definite = problem;
      Adapter::parts(definite) = parts;
      const typename Adapter::Scope reads(definite);
      return body(static_cast<const Problem&>(definite));
    }
  }
  return body(problem);
}

[[nodiscard]] inline const RunningSelection*& running_selection() noexcept {
  static thread_local const RunningSelection* now = nullptr;
  return now;
}

/// Notes a kernel that threw while it was asked, which counts as "no".
inline void note_fault(const std::string& kernel, const char* message) noexcept {
  const RunningSelection* now = running_selection();
  if (now == nullptr || !now->fault.empty()) return;
  try {
    now->fault = "is_supported of " + kernel + " threw, which counts as \"no\": " + message;
  } catch (...) {  // no memory for the text
  }
}

class RunningScope {
 public:
  explicit RunningScope(const RunningSelection& now) noexcept : before_(running_selection()) {
    running_selection() = &now;
  }
  ~RunningScope() { running_selection() = before_; }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;

 private:
  const RunningSelection* before_;
};

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_SNAPSHOT_HPP
