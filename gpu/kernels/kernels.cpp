#include "kernels.hpp"

#include <algorithm>

namespace ck_gpu {

namespace {

/// Filled before main by translation units in no particular order, so it must not be one of their globals.
std::vector<Kernel>& table(Direction direction) {
    static std::vector<Kernel> tables[3];
    return tables[static_cast<int>(direction)];
}

}  // namespace

const std::vector<Kernel>& kernels(Direction direction) {
    std::vector<Kernel>& all = table(direction);
    const auto order = [](const Kernel& a, const Kernel& b) { return a.name < b.name; };
    if (!std::is_sorted(all.begin(), all.end(), order)) std::sort(all.begin(), all.end(), order);
    return all;
}

bool direction_of(const std::string& word, Direction& direction) {
    const char* words[] = {"forward", "bwd_data", "bwd_weight"};
    for (int i = 0; i < 3; ++i)
        if (word == words[i]) {
            direction = static_cast<Direction>(i);
            return true;
        }
    return false;
}

int64_t Kernel::partial_elements(const Problem& p) const {
    return parts > 1 ? p.gemm_m(direction) * p.gemm_n(direction) * p.g * parts : 0;
}

const char* Kernel::refuses(const Problem& p) const {
    const int64_t most = (int64_t(1) << 31) - 1 - 512;
    if (p.ho < 1 || p.wo < 1) return "the output is empty";
    if (p.gemm_m(direction) > most || p.gemm_n(direction) > most || p.gemm_k(direction) > most)
        return "an extent of the GEMM does not fit into 31 bits";
    if ((p.gemm_n(direction) + tile_n - 1) / tile_n > 65535) return "more than 65535 tiles of columns";
    if (int64_t(p.g) * parts > 65535) return "more than 65535 groups and parts";
    if (partial_elements(p) * 4 > MOST_PARTIAL_BYTES) return "the parts need more than 4 GiB";
    return nullptr;
}

bool Kernel::fits(const Problem& p, const Buffers& buffers) const {
    return p.input_elements() * 2 <= buffers.input_bytes && p.weight_elements() * 2 <= buffers.weight_bytes &&
           p.output_elements() * 2 <= buffers.output_bytes && partial_elements(p) * 4 <= buffers.partial_bytes;
}

cudaError_t Kernel::run(const Problem& p, const Buffers& buffers, cudaStream_t stream) const {
    if (refuses(p) || !fits(p, buffers)) return cudaErrorInvalidValue;
    const bool wide = p.c % 8 == 0 && (direction == Direction::Forward || p.k % 8 == 0);
    return launch(*this, p, buffers, wide, stream);
}

void detail::add(Kernel kernel) {
    std::vector<Kernel>& all = table(kernel.direction);
    all.push_back(std::move(kernel));
}

}  // namespace ck_gpu
