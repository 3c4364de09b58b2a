// The part of a convolution registry that all generations share. `Registered` is what is found without ck_select.

#ifndef CK_SELECT_STAND_IN_CONV_REGISTRY_HPP
#define CK_SELECT_STAND_IN_CONV_REGISTRY_HPP

#include "base.hpp"

namespace ck_tile {
namespace dispatcher {

template <class Derived, class Key, class Instance>
class ConvRegistryBase : public BaseRegistry<Derived, Key, Instance> {
 public:
  static Derived& instance() {
    static Derived registry;
    return registry;
  }

  /// In the order of the hash table.
  [[nodiscard]] std::vector<const Instance*> all_kernels() const {
    return filter([](const Instance&) { return true; });
  }

  /// Asks under the lock.
  [[nodiscard]] std::vector<const Instance*> filter(std::function<bool(const Instance&)> predicate) const {
    const std::lock_guard<std::mutex> lock(this->mutex());
    std::vector<const Instance*> kept;
    for (const auto& item : this->entries()) {
      if (predicate(*item.second.instance)) kept.push_back(item.second.instance.get());
    }
    return kept;
  }

  /// Removes the kernels of other architectures, by their whole texts.
  std::size_t filter_by_arch(const std::string& arch) {
    const std::lock_guard<std::mutex> lock(this->mutex());
    auto& entries = this->entries_mut();
    const std::size_t before = entries.size();
    for (auto at = entries.begin(); at != entries.end();)
      at = at->first.arch == arch ? std::next(at) : entries.erase(at);
    return before - entries.size();
  }
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_CONV_REGISTRY_HPP
