/* Names of kernels: which are told apart by them, and where they lead CK's dispatcher. */

#ifndef CK_SELECT_DISPATCHER_NAMES_HPP
#define CK_SELECT_DISPATCHER_NAMES_HPP

#include <algorithm>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "snapshot.hpp"

namespace ck_select::detail {

/// Kernels for the same problems with the same description but two names are two kernels.
template <class Instance, class Kernel>
void tell_apart(std::vector<Known<Instance, Kernel>>& kernels) {
  for (std::size_t first = 0; first < kernels.size();) {
    std::size_t end = first + 1;
    while (end < kernels.size() && kernels[end].key == kernels[first].key) ++end;
    std::vector<std::size_t> alike;
    for (std::size_t at = first + 1; at < end && !kernels[first].key.empty(); ++at) {
      const auto is_alike = [&](const Known<Instance, Kernel>& other) {
        return other.name != kernels[at].name && other.arch == kernels[at].arch &&
               other.signature == kernels[at].signature;
      };
      const auto begin = kernels.begin() + static_cast<std::ptrdiff_t>(first);
      if (std::any_of(begin, kernels.begin() + static_cast<std::ptrdiff_t>(at), is_alike)) alike.push_back(at);
    }
    for (const std::size_t at : alike) kernels[at].key += " [" + kernels[at].name + ']';
    first = end;
  }
}

/// The names of kernels, best first. CK's convolution dispatcher takes the first kernel of its hash table whose name
/// contains the given text: so a name stands for the kernel that it selects, and is left out if that may be one that
/// cannot run the problem.
template <bool matches_parts, class Instance, class Kernel, class LibraryProblem, class Fits>
[[nodiscard]] std::vector<std::string> names_of(const std::vector<std::size_t>& ranked,
                                                const Snapshot<Instance, Kernel, LibraryProblem>& state,
                                                const SelectorOptions& options, Fits fits) {
  // The rank of the kernel that runs, that of the kernel named, and the name.
  std::vector<std::tuple<std::size_t, std::size_t, const std::string*>> led;
  for (std::size_t rank = 0; rank < ranked.size() && led.size() < options.heuristic_limit; ++rank) {
    const std::size_t at = ranked[rank];
    const std::string& name = state.kernels[at].name;
    if (name.empty() || !fits(at)) continue;
    std::size_t runs = at;
    if constexpr (matches_parts) {
      if (!options.exact_names) {
        const auto& others = state.containing(at);
        // The newest dispatcher asks each itself; the others take the first of the right operation.
        const bool asks = is_valid<Executable, Instance>;
        if (!asks && !std::all_of(others.begin(), others.end(), fits)) continue;
        runs = *std::find_if(others.begin(), others.end(), [&](std::size_t other) { return !asks || fits(other); });
      }
    }
    const auto found = std::find(ranked.begin(), ranked.end(), runs);
    led.emplace_back(static_cast<std::size_t>(found - ranked.begin()), rank, &name);
  }
  std::sort(led.begin(), led.end());
  std::vector<std::string> names;
  for (const auto& place : led) {
    const std::string& name = *std::get<2>(place);
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  return names;
}

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_NAMES_HPP
