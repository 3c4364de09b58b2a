/* CK's registries from outside: their kernels and priorities, and whether they have changed. */

#ifndef CK_SELECT_DISPATCHER_REGISTRY_HPP
#define CK_SELECT_DISPATCHER_REGISTRY_HPP

#include <cstddef>
#include <mutex>
#include <type_traits>

#include "members.hpp"

namespace ck_select::detail {

/// All instances of a registry, shared.
template <class CkRegistry>
[[nodiscard]] auto instances_of(const CkRegistry& registry) {
  if constexpr (is_valid<AllInstances, CkRegistry>) return registry.get_all_instances();
  else return registry.get_all();
}

/// A registry's entries with their priorities, which only derived classes can access. A derived class takes the
/// addresses of the members, which are used with the registry itself: nothing is cast.
template <class CkRegistry>
struct Entries : CkRegistry {
  template <class Self = Entries>
  [[nodiscard]] static auto map(const CkRegistry& registry) -> decltype((registry.*(&Self::entries))()) {
    return (registry.*(&Self::entries))();
  }
  template <class Self = Entries>
  [[nodiscard]] static auto lock(const CkRegistry& registry)
      -> std::unique_lock<std::decay_t<decltype((registry.*(&Self::mutex))())>> {
    return std::unique_lock<std::decay_t<decltype((registry.*(&Self::mutex))())>>((registry.*(&Self::mutex))());
  }

  template <class Self>
  using Entry = decltype(Self::map(a<CkRegistry>()).begin()->second);
  template <class Self>
  using Tell = decltype(Self::lock(a<CkRegistry>()), static_cast<int>(a<Entry<Self>>().priority),
                        a<Entry<Self>>().instance.get());
};
template <class CkRegistry>
inline constexpr bool shows_entries =
    is_valid<Entries<CkRegistry>::template Tell, Entries<CkRegistry>>;

/// The registry's kernels in its order, with their priorities if it exposes them.
template <class CkRegistry, class State>
void read_entries(const CkRegistry& registry, State& next) {
  if constexpr (shows_entries<CkRegistry>) {
    const auto lock = Entries<CkRegistry>::lock(registry);
    for (const auto& item : Entries<CkRegistry>::map(registry)) {
      next.seen.push_back(item.second.instance);
      next.priorities.push_back(static_cast<int>(item.second.priority));
    }
  } else {
    const auto all = instances_of(registry);
    next.seen.assign(all.begin(), all.end());
    next.priorities.assign(next.seen.size(), 1);
  }
}

/// Whether a registry has the kernels of a state, instance by instance, at the same priorities. Nothing is allocated.
template <class CkRegistry, class State>
[[nodiscard]] bool looks_same(const CkRegistry& registry, const State& state) {
  std::size_t at = 0;
  bool same = true;
  if constexpr (shows_entries<CkRegistry>) {
    const auto lock = Entries<CkRegistry>::lock(registry);
    const auto& entries = Entries<CkRegistry>::map(registry);
    if (entries.size() != state.seen.size()) return false;
    for (const auto& item : entries) {
      same = same && item.second.instance == state.seen[at] &&
             static_cast<int>(item.second.priority) == state.priorities[at];
      ++at;
    }
  } else {
    struct Look {
      const State& state;
      std::size_t at = 0;
      bool same = true;
    } look{state};
    // One captured address fits into a std::function without allocation. Returning false keeps the result empty.
    (void)registry.filter([&look](const auto& instance) {
      look.same = look.same && look.at < look.state.seen.size() && look.state.seen[look.at].get() == &instance;
      ++look.at;
      return false;
    });
    at = look.at;
    same = look.same;
  }
  return same && at == state.seen.size();
}

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_REGISTRY_HPP
