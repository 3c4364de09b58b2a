/* Operands of a search: memory of the device with random values, for as long as one problem is measured. */

#ifndef CK_SELECT_DISPATCHER_OPERANDS_HPP
#define CK_SELECT_DISPATCHER_OPERANDS_HPP

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "options.hpp"

namespace ck_select::detail {

/// A function of the HIP runtime that the program has loaded; null without one. It is looked up by name, so this header
/// does not need HIP's.
template <class Function>
[[nodiscard]] Function* hip(const char* name) noexcept {
  void* found = dlsym(RTLD_DEFAULT, name);
  // A runtime that came with a library loaded with local symbols, as Python does.
  for (const char* file : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
    if (found != nullptr) break;
    if (void* library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD)) {
      found = dlsym(library, name);
      (void)dlclose(library);
    }
  }
  return reinterpret_cast<Function*>(found);
}

[[nodiscard]] inline int current_device() noexcept {
  static const auto get_device = hip<int(int*)>("hipGetDevice");
  int device = 0;
  return get_device != nullptr && get_device(&device) == 0 ? device : 0;
}

/// The owner's functions, and HIP's for the rest.
[[nodiscard]] inline DeviceMemory complete(DeviceMemory memory) {
  static const auto hip_malloc = hip<int(void**, std::size_t)>("hipMalloc");
  static const auto hip_free = hip<int(void*)>("hipFree");
  static const auto hip_memcpy = hip<int(void*, const void*, std::size_t, int)>("hipMemcpy");
  if (!memory.allocate) {
    if (hip_malloc == nullptr || hip_free == nullptr) {
      throw Error(Status::io,
                  "a search needs memory of the device: HIP is not loaded, and SelectorOptions::memory allocates none");
    }
    memory.allocate = [](std::size_t bytes) {
      void* made = nullptr;
      return hip_malloc(&made, bytes) == 0 ? made : nullptr;
    };
    memory.release = [](void* made) { (void)hip_free(made); };
  }
  if (!memory.copy && hip_memcpy != nullptr) {
    constexpr int host_to_device = 1;
    memory.copy = [](void* to, const void* from, std::size_t bytes) {
      return hip_memcpy(to, from, bytes, host_to_device) == 0;
    };
  }
  return memory;
}

/// Bits of an element type.
[[nodiscard]] inline std::size_t bits_of(Dtype dtype) noexcept {
  switch (dtype) {
    case Dtype::fp64: return 64;
    case Dtype::fp32:
    case Dtype::int32: return 32;
    case Dtype::fp16:
    case Dtype::bf16: return 16;
    case Dtype::int4:
    case Dtype::pk_fp4:
    case Dtype::pk_int4: return 4;
    default: return 8;
  }
}

/// Random values of a type, as bytes. Floating-point values lie between 1/128 and 1 with either sign, integers between
/// -4 and 3: sums neither overflow nor vanish, and hardware whose power depends on the data is not flattered by zeros.
class RandomValues {
 public:
  explicit RandomValues(Dtype dtype) noexcept : dtype_(dtype) {}

  void fill(std::vector<unsigned char>& bytes) noexcept {
    const std::size_t width = std::max<std::size_t>(bits_of(dtype_) / 8, 1);
    for (std::size_t at = 0; at + width <= bytes.size(); at += width) {
      const std::uint64_t value = next_value();
      // Little-endian, as on every machine with such a GPU.
      std::memcpy(bytes.data() + at, &value, width);
    }
  }

 private:
  /// Sign, an exponent out of seven below 1, and a mantissa.
  [[nodiscard]] std::uint64_t number(int mantissa, std::uint64_t bias, int sign_at) noexcept {
    const std::uint64_t random = next();
    const std::uint64_t exponent = bias - 1 - random % std::min<std::uint64_t>(bias - 1, 7);
    const std::uint64_t fraction = (random >> 8) & ((std::uint64_t{1} << mantissa) - 1);
    return (random >> 63) << sign_at | exponent << mantissa | fraction;
  }

  [[nodiscard]] std::uint64_t next_value() noexcept {
    switch (dtype_) {
      case Dtype::fp64: return number(52, 1023, 63);
      case Dtype::fp32: return number(23, 127, 31);
      case Dtype::fp16: return number(10, 15, 15);
      case Dtype::bf16: return number(7, 127, 15);
      case Dtype::fp8: return number(3, 7, 7);
      case Dtype::bf8: return number(2, 15, 7);
      case Dtype::int8:
      case Dtype::int32: return next() % 8 - 4;
      default: return next();  // two values of 4 bits
    }
  }

  [[nodiscard]] std::uint64_t next() noexcept {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1D;
  }

  Dtype dtype_;
  std::uint64_t state_ = 0x9E3779B97F4A7C15;
};

/// One operand: how many elements of which type.
struct Extent {
  Dtype dtype = Dtype::bf16;
  /// Less than 0 on overflow.
  std::int64_t elements = 1;

  Extent& times(std::int64_t factor) noexcept {
    const bool fits = elements >= 0 && factor >= 0 &&
                      (factor == 0 || elements <= std::numeric_limits<std::int64_t>::max() / 64 / factor);
    elements = fits ? elements * factor : -1;
    return *this;
  }
  [[nodiscard]] std::size_t bytes() const {
    if (elements < 0)
      throw Error(Status::invalid_problem, "a search needs operands that are larger than memory can be");
    const std::size_t bits = static_cast<std::size_t>(elements) * bits_of(dtype);
    // Kernels may read whole vectors beyond the last element.
    return (bits + 7) / 8 + 256;
  }
};

/// Three operands on the device, from construction to destruction.
class SearchOperands {
 public:
  SearchOperands(const DeviceMemory& memory, const std::array<Extent, 3>& extents) : memory_(complete(memory)) {
    try {
      for (std::size_t at = 0; at < extents.size(); ++at) allocate(at, extents[at]);
    } catch (...) {
      release();
      throw;
    }
  }
  ~SearchOperands() { release(); }
  SearchOperands(const SearchOperands&) = delete;
  SearchOperands& operator=(const SearchOperands&) = delete;

  [[nodiscard]] void* operator[](std::size_t at) const noexcept { return made_[at]; }

 private:
  void allocate(std::size_t at, const Extent& extent) {
    const std::size_t bytes = extent.bytes();
    made_[at] = memory_.allocate(bytes);
    if (made_[at] == nullptr) {
      throw Error(Status::io, "a search needs " + std::to_string(bytes) + " bytes on the device, which are not there");
    }
    if (!memory_.copy) return;
    // The same block of values, repeated: generating all of them would take longer than the search.
    std::vector<unsigned char> block(std::min<std::size_t>(bytes, std::size_t{1} << 20));
    RandomValues(extent.dtype).fill(block);
    for (std::size_t done = 0; done < bytes; done += block.size()) {
      auto* const to = static_cast<unsigned char*>(made_[at]) + done;
      if (!memory_.copy(to, block.data(), std::min(block.size(), bytes - done))) {
        throw Error(Status::io, "the operands of a search could not be copied to the device");
      }
    }
  }

  void release() noexcept {
    for (void*& made : made_) {
      if (made == nullptr || !memory_.release) continue;
      try {
        memory_.release(made);
      } catch (...) {  // nobody is left to be told
      }
      made = nullptr;
    }
  }

  DeviceMemory memory_;
  std::array<void*, 3> made_{};
};

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_OPERANDS_HPP
