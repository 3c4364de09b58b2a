// Stand-ins for the classes of CK's dispatcher: what all generations share. They have the members, the constructors and
// the rules that a selector, an example or a test meets, and no others: enough to build and run everything
// without CK. Nothing here is CK's code; a real program includes CK's own headers instead, under the same
// names.

#ifndef CK_SELECT_STAND_IN_BASE_HPP
#define CK_SELECT_STAND_IN_BASE_HPP

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ck_tile {
namespace dispatcher {

struct DispatcherError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct NoKernelFound : DispatcherError {
  using DispatcherError::DispatcherError;
};

enum class Priority { Low = 0, Normal = 1, High = 2 };

/// All keys hash alike. So the order of the table is the worst there can be: with the usual libraries the newest entry
/// comes first, and a kernel registered after one whose name it contains is found before it.
template <class Key>
struct WorstHash {
  std::size_t operator()(const Key& /*key*/) const noexcept { return 7; }
};

/// Kernels under unique keys, with one lock that is not recursive.
template <class Derived, class Key, class Instance, class Hash = WorstHash<Key>>
class BaseRegistry {
 public:
  using InstancePtr = std::shared_ptr<Instance>;
  struct Entry {
    InstancePtr instance;
    Priority priority;
  };

  BaseRegistry() = default;
  virtual ~BaseRegistry() = default;
  BaseRegistry(const BaseRegistry&) = delete;
  BaseRegistry& operator=(const BaseRegistry&) = delete;

  /// An entry gives way only to a strictly higher priority.
  bool register_kernel(const Key& key, InstancePtr instance, Priority priority = Priority::Normal) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [place, is_new] = entries_.try_emplace(key, Entry{instance, priority});
    if (is_new) return true;
    if (place->second.priority >= priority) return false;
    place->second = Entry{std::move(instance), priority};
    return true;
  }

  [[nodiscard]] std::size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return entries_.size();
  }

  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    entries_.clear();
  }

  [[nodiscard]] std::vector<InstancePtr> get_all_instances() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<InstancePtr> all;
    for (const auto& item : entries_) all.push_back(item.second.instance);
    return all;
  }

 protected:
  [[nodiscard]] const std::unordered_map<Key, Entry, Hash>& entries() const { return entries_; }
  [[nodiscard]] std::unordered_map<Key, Entry, Hash>& entries_mut() { return entries_; }
  std::mutex& mutex() const { return mutex_; }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Key, Entry, Hash> entries_;
};

}  // namespace dispatcher
}  // namespace ck_tile

#endif  // CK_SELECT_STAND_IN_BASE_HPP
