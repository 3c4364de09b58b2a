// What the generations of convolutions share: the key, which says more from V2 on (STAND_IN_ASKED) and has a name in V3
// (STAND_IN_NAMED), and a part of the registry.

#ifndef CK_SELECT_STAND_IN_CONV_REGISTRY_HPP
#define CK_SELECT_STAND_IN_CONV_REGISTRY_HPP

#include <tuple>

#include "base.hpp"

namespace ck_tile {
namespace dispatcher {

enum class GroupedConvOp { Forward, BackwardData, BackwardWeight };

struct GroupedConvKernelKey {
  std::string dtype_in, dtype_wei, dtype_out, layout;
  int ndim_spatial = 2;
  GroupedConvOp op = GroupedConvOp::Forward;
  int tile_m = 1, tile_n = 128, tile_k = 128;
  int wave_m = 2, wave_n = 2, wave_k = 1;
  int warp_m = 32, warp_n = 32, warp_k = 16;
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle";
  int vector_size_a = 4, vector_size_b = 8, vector_size_c = 8;
  int block_per_cu = 1, num_wave_groups = 1, num_groups_to_merge = 1;
#ifdef STAND_IN_ASKED
  std::string specialization = "default";
  bool large_tensor = false;
  bool streamk_enabled = false;
  std::string streamk_reduction = "none";
  bool streamk_persistent = false;
#endif
  std::string arch = "gfx942";
#ifdef STAND_IN_NAMED
  std::string name;

  /// Signature, architecture and name identify a kernel; the rest is only carried along.
  [[nodiscard]] auto identity_() const {
    return std::tie(dtype_in, dtype_wei, dtype_out, layout, ndim_spatial, op, arch, name);
  }

  [[nodiscard]] std::string kernel_id() const {
    std::string id = "cktile_gconv_v1";
    for (const std::string& part : {dtype_in, dtype_wei, dtype_out, layout, std::to_string(ndim_spatial),
                                    std::to_string(static_cast<int>(op)), arch, name}) {
      id += '|' + std::to_string(part.size()) + ':' + part;
    }
    return id;
  }
#else
  /// Every field identifies.
  [[nodiscard]] auto identity_() const {
    return std::tie(dtype_in, dtype_wei, dtype_out, layout, ndim_spatial, op, tile_m, tile_n, tile_k, wave_m, wave_n,
                    wave_k, warp_m, warp_n, warp_k, pipeline, scheduler, epilogue, vector_size_a, vector_size_b,
                    vector_size_c, block_per_cu, num_wave_groups, num_groups_to_merge, arch
#ifdef STAND_IN_ASKED
                    , specialization, large_tensor, streamk_enabled, streamk_reduction, streamk_persistent
#endif
    );
  }
#endif
  bool operator==(const GroupedConvKernelKey& other) const { return identity_() == other.identity_(); }
};

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
