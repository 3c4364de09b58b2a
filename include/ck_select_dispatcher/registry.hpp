/* CK's registries from outside: their kernels and priorities, and whether they have changed. */

#ifndef CK_SELECT_DISPATCHER_REGISTRY_HPP
#define CK_SELECT_DISPATCHER_REGISTRY_HPP

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "members.hpp"

namespace ck_select::detail {

/// All instances of a registry, shared.
template <class CkRegistry>
[[nodiscard]] auto instances_of(const CkRegistry& registry) {
  static_assert(!std::is_pointer_v<CkRegistry>, "a selector takes the registry itself, a runner its address");
  if constexpr (is_valid<AllInstances, CkRegistry>) return registry.get_all_instances();
  else return registry.get_all();
}

template <class CkRegistry>
using InstanceOf = typename std::decay_t<decltype(instances_of(a<CkRegistry>()))>::value_type::element_type;

/// A registry's entries with their priorities, which only derived classes can access. A derived class takes the
/// addresses of the members, which are used with the registry itself: nothing is cast.
template <class CkRegistry>
struct Entries : CkRegistry {
  using Shown = CkRegistry;
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

template <class Self>
using BucketOf = decltype(Self::map(a<typename Self::Shown>()).begin(std::size_t{}) ==
                          Self::map(a<typename Self::Shown>()).end(Self::map(a<typename Self::Shown>()).bucket_count()));
/// Whether the entries are in a hash table.
template <class CkRegistry>
inline constexpr bool shows_buckets = shows_entries<CkRegistry> && is_valid<BucketOf, Entries<CkRegistry>>;

/// What a registry's hash table had in each of its buckets: a few buckets are compared at each call, in turn, so that a
/// look at a registry costs the same however many kernels it has.
template <class Instance>
class Buckets {
 public:
  template <class Map>
  void read(const Map& map) {
    starts_.assign(1, 0);
    for (std::size_t bucket = 0; bucket < map.bucket_count(); ++bucket) {
      for (auto item = map.begin(bucket); item != map.end(bucket); ++item) {
        kernels_.emplace_back(item->second.instance.get(), static_cast<int>(item->second.priority));
      }
      starts_.push_back(kernels_.size());
    }
  }

  /// Whether the table has as many kernels and buckets, and the next buckets have the same kernels.
  template <class Map>
  [[nodiscard]] bool look_same(const Map& map) const noexcept {
    if (map.size() != kernels_.size() || map.bucket_count() + 1 != starts_.size()) return false;
    const std::size_t all = map.bucket_count();
    std::size_t bucket = next_.fetch_add(few, std::memory_order_relaxed) % std::max<std::size_t>(all, 1);
    for (std::size_t seen = 0; seen < std::min(few, all); ++seen, bucket = bucket + 1 == all ? 0 : bucket + 1) {
      std::size_t at = starts_[bucket];
      for (auto item = map.begin(bucket); item != map.end(bucket); ++item, ++at) {
        if (at == starts_[bucket + 1] || item->second.instance.get() != kernels_[at].first ||
            static_cast<int>(item->second.priority) != kernels_[at].second) {
          return false;
        }
      }
      if (at != starts_[bucket + 1]) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t few = 4;
  /// Where the kernels of each bucket begin, and the end.
  std::vector<std::size_t> starts_{0};
  std::vector<std::pair<const Instance*, int>> kernels_;
  mutable std::atomic<std::size_t> next_{0};
};

/// The registry's kernels in its order, with their priorities if it exposes them.
template <class CkRegistry, class State>
void read_entries(const CkRegistry& registry, State& next) {
  if constexpr (shows_entries<CkRegistry>) {
    const auto lock = Entries<CkRegistry>::lock(registry);
    if constexpr (shows_buckets<CkRegistry>) next.buckets.read(Entries<CkRegistry>::map(registry));
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

/// Whether a registry looks as it did, by the number of its kernels and by a few of them, others at each call. One that
/// does not show its entries is compared as a whole, but only at every so many calls as it has kernels.
template <class CkRegistry, class State>
[[nodiscard]] bool looks_same_in_part(const CkRegistry& registry, const State& state) {
  if constexpr (shows_buckets<CkRegistry>) {
    const auto lock = Entries<CkRegistry>::lock(registry);
    return state.buckets.look_same(Entries<CkRegistry>::map(registry));
  } else {
    constexpr std::size_t seldom = 256;
    if (state.looks.fetch_add(1, std::memory_order_relaxed) % std::max(seldom, state.seen.size()) == 0) {
      return looks_same(registry, state);
    }
    return registry.size() == state.seen.size();
  }
}

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_REGISTRY_HPP
