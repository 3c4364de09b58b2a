// Chooses forward convolution kernels for layers of ResNet, UNet and ViT, as a dispatcher would on its hot path.
//
//     conv_get_solution [MODEL_DIRECTORY [KERNEL_LIST]]
//
// MODEL_DIRECTORY may be embedded:NAME. Without it, the model that is built into the library is taken; if there is
// none, the small one that the tests use, whose choices mean nothing on a real GPU and which lies in the repository of
// this source. KERNEL_LIST has a name a line; without it, the choice is among 30 forward kernels.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <deque>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ck_select.hpp"

namespace {

/// What a dispatcher has for each compiled kernel; here just the name, in a real one a function that launches it.
struct Kernel {
  std::string name;
};

/// The kernels of this process, and the library that chooses among them.
class Solutions {
 public:
  void add(std::string name) {
    Kernel& kernel = kernels_.emplace_back(Kernel{std::move(name)});
    ck_select::Hooks hooks;
    hooks.user = &kernel;
    registry_.add(kernel.name, std::move(hooks));
  }

  void load_model(const std::string& directory) {
    registry_.load_model(directory);
    registry_.prepare();
  }

  /// The kernel to run; null when none can. Takes no lock, does not allocate, does not throw.
  const Kernel* get_solution(const ck_select::ConvProblem& problem, ck_select::Selection& why) const noexcept {
    if (registry_.try_select(problem, why) != ck_select::Status::ok) return nullptr;
    return static_cast<const Kernel*>(why.user);
  }

  [[nodiscard]] std::size_t size() const noexcept { return kernels_.size(); }

 private:
  // Kernels stay where they are when more are added.
  std::deque<Kernel> kernels_;
  ck_select::Registry registry_;
};

struct Layer {
  const char* name;
  ck_select::ConvProblem problem;
};

ck_select::ConvProblem square(int batch, int c, int k, int size, int filter, int stride, int padding) {
  return ck_select::ConvProblem()
      .batch(batch)
      .channels(c, k)
      .input(size, size)
      .filter(filter, filter)
      .stride(stride, stride)
      .padding(padding, padding)
      .dtype(ck_select::Dtype::bf16)
      .layout(ck_select::ConvLayout::nhwgc)
      .arch("gfx950");
}

std::vector<Layer> layers() {
  return {
      {"ResNet-50 stem 7x7/2", square(32, 3, 64, 224, 7, 2, 3)},
      {"ResNet-50 conv2 1x1", square(32, 64, 64, 56, 1, 1, 0)},
      {"ResNet-50 conv2 3x3", square(32, 64, 64, 56, 3, 1, 1)},
      {"ResNet-50 conv3 3x3/2", square(32, 128, 128, 56, 3, 2, 1)},
      {"ResNet-50 conv4 1x1", square(32, 1024, 256, 14, 1, 1, 0)},
      {"ResNet-50 conv5 3x3", square(32, 512, 512, 7, 3, 1, 1)},
      {"ResNeXt-50 conv3 3x3 g32", square(32, 256, 256, 28, 3, 1, 1).groups(32)},
      {"UNet down 64x64", square(2, 320, 320, 64, 3, 1, 1)},
      {"UNet down 32x32", square(2, 640, 640, 32, 3, 1, 1)},
      {"UNet middle 8x8", square(2, 1280, 1280, 8, 3, 1, 1)},
      {"UNet up 16x16", square(2, 2560, 1280, 16, 3, 1, 1)},
      {"ViT-B/16 patches", square(64, 3, 768, 224, 16, 16, 0)},
  };
}

/// The median time of one call in microseconds.
double time_of(const Solutions& solutions, const ck_select::ConvProblem& problem) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> times(201);
  ck_select::Selection ignored;
  for (double& time : times) {
    const auto begin = Clock::now();
    (void)solutions.get_solution(problem, ignored);
    time = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  }
  std::nth_element(times.begin(), times.begin() + 100, times.end());
  return times[100];
}

/// The model to take when none is named.
std::string usual_model() {
  for (const std::string_view name : ck_select::embedded_models()) {
    if (name.rfind("grouped_conv_forward", 0) == 0) return "embedded:" + std::string(name);
  }
  const auto repository = std::filesystem::path(__FILE__).parent_path().parent_path();
  return (repository / "tests/golden/models/conv_small").string();
}

/// The kernels to choose among when no list is given: ten tiles with three pipelines each.
std::vector<std::string> usual_kernels() {
  std::vector<std::string> names;
  for (const char* tile : {"16x64x64", "32x64x64", "64x64x64", "32x128x64", "64x128x64", "128x128x64", "16x64x128",
                           "32x64x128", "64x64x128", "128x64x128"}) {
    for (const char* pipeline : {"compv3", "compv4", "compv5"}) {
      names.push_back(std::string("grouped_conv_forward_bf16_2d_") + tile + "_" + pipeline);
    }
  }
  return names;
}

/// The names of a file, one a line.
std::vector<std::string> listed_kernels(const std::string& list) {
  std::ifstream lines(list);
  if (!lines) throw std::runtime_error(list + ": cannot be read");
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != '#') names.push_back(line);
  }
  return names;
}

int run(const std::string& model, const std::vector<std::string>& kernels) {
  Solutions solutions;
  for (const std::string& name : kernels) solutions.add(name);
  solutions.load_model(model);
  std::printf("%zu kernels, model %s\n\n", solutions.size(), model.c_str());
  std::printf("%-25s %-45s %9s %11s  %s\n", "layer", "kernel", "score", "time", "source");
  for (const Layer& layer : layers()) {
    ck_select::Selection why;
    const Kernel* kernel = solutions.get_solution(layer.problem, why);
    if (kernel == nullptr) {
      std::printf("%-25s no kernel: %s\n", layer.name, ck_last_error());
      continue;
    }
    // Only a model gives scores.
    char score[32] = "-";
    if (why.score) std::snprintf(score, sizeof score, "%.2f", *why.score);
    std::printf("%-25s %-45s %9s %8.1f us  %s%s\n", layer.name, kernel->name.c_str(), score,
                time_of(solutions, layer.problem), ck_select::to_string(why.source).data(),
                why.out_of_range ? ", outside of training" : "");
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : usual_model(), argc > 2 ? listed_kernels(argv[2]) : usual_kernels());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
