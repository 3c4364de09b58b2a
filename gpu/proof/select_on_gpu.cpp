// Chooses kernels on a real GPU in three ways, beside the oracle: by a model, by search without a model, and by the
// model with its best three measured.
//
//     CK_SELECT_HIP_LIBRARY=build/libhip_on_cuda.so build/select_on_gpu [DIRECTION [MODEL_DIRECTORY [LAYERS]]]

#include <stdexcept>

#include "timing.hpp"

using namespace ck_gpu;

namespace {

std::vector<Layer> layers(Direction direction) {
  const auto conv = [=](int n, int c, int k, int size, int filter, int stride, int pad, int groups = 1) {
    return layer(direction, n, c, k, size, filter, stride, pad, groups);
  };
  return {
      {"ResNet-50 conv2 1x1", conv(32, 64, 256, 56, 1, 1, 0)},
      {"ResNet-50 conv2 3x3", conv(32, 64, 64, 56, 3, 1, 1)},
      {"ResNet-50 conv3 3x3/2", conv(32, 128, 128, 56, 3, 2, 1)},
      {"ResNet-50 conv4 1x1", conv(32, 1024, 256, 14, 1, 1, 0)},
      {"ResNet-50 conv4 3x3", conv(32, 256, 256, 14, 3, 1, 1)},
      {"ResNet-50 conv5 3x3", conv(32, 512, 512, 7, 3, 1, 1)},
      {"ResNet-50 conv5 3x3, one image", conv(1, 512, 512, 7, 3, 1, 1)},
      {"ResNeXt-50 conv3 3x3 g32", conv(32, 256, 256, 28, 3, 1, 1, 32)},
      {"MobileNet depthwise", conv(32, 144, 144, 56, 3, 1, 1, 144)},
      {"UNet down 64x64", conv(2, 320, 320, 64, 3, 1, 1)},
      {"UNet middle 8x8", conv(2, 1280, 1280, 8, 3, 1, 1)},
      {"UNet up 16x16", conv(2, 2560, 1280, 16, 3, 1, 1)},
      {"ConvNeXt 1x1", conv(16, 384, 1536, 14, 1, 1, 0)},
      {"odd channels", conv(8, 99, 131, 30, 3, 1, 1)},
  };
}

struct Contender {
  const char* name;
  ck_select::Registry registry;
  double efficiency = 0;
  int problems = 0;
};

/// Microseconds of a choice by the model, median of many problems that follow one another, as they do while a network
/// is loaded; none is met twice.
double choosing_in_a_row(ck_select::Registry& registry, Direction direction) {
  std::vector<double> us;
  for (int batch = 1; batch <= 40; ++batch) {
    for (int channels = 8; channels <= 400; channels += 8) {
      const ck_select::ConvProblem problem = layer(direction, batch, channels, 2 * channels, 30, 3, 1, 1);
      ck_select::Selection chosen;
      const auto begin = Clock::now();
      const ck_select::Status status = registry.try_select(problem, chosen);
      us.push_back(us_since(begin));
      if (status != ck_select::Status::ok || chosen.source != ck_select::Source::model)
        throw std::runtime_error("a new problem was not chosen for by the model");
    }
  }
  return median(us);
}

}  // namespace

int main(int argc, char** argv) {
  Direction direction = Direction::Forward;
  if (argc > 1 && !direction_of(argv[1], direction)) {
    std::fprintf(stderr, "%s: expected forward, bwd_data or bwd_weight\n", argv[1]);
    return 2;
  }
  try {
    std::vector<Contender> contenders;
    const auto add = [&](const char* name, ck_select::Mode mode, bool model) {
      ck_select::Options options;
      options.mode = mode;
      options.ignore_environment = true;
      options.store = "off";
      contenders.push_back({name, ck_select::Registry(options)});
      add_all(contenders.back().registry, direction);
      if (model) contenders.back().registry.load_model(argv[2]);
      contenders.back().registry.prepare();
    };
    if (argc > 2) {
      add("model", ck_select::Mode::model, true);
      add("refine=3", ck_select::Mode::refine, true);
    }
    add("search", ck_select::Mode::search, false);

    const std::vector<Kernel>& all = kernels(direction);
    int left = argc > 3 ? std::atoi(argv[3]) : 1000;
    for (const Layer& layer : layers(direction)) {
      if (left-- <= 0) break;
      const std::optional<Problem> p = prepared(layer.problem);
      if (!p) continue;
      const Oracle oracle = measure_all(direction, *p, nullptr);
      std::printf("%-32s oracle %9.1f us  %s\n", layer.name.c_str(), oracle.ms[oracle.best] * 1e3,
                  all[oracle.best].name.c_str());
      for (Contender& one : contenders) {
        ck_select::Selection chosen;
        const auto begin = Clock::now();
        const ck_select::Status status = one.registry.try_select(layer.problem, chosen);
        const double us = us_since(begin);
        if (status != ck_select::Status::ok) {
          std::printf("  %-10s %s\n", one.name, ck_last_error());
          continue;
        }
        const Kernel& kernel = *static_cast<const Kernel*>(chosen.user);
        const double ms = oracle.ms[static_cast<size_t>(&kernel - all.data())];
        const double efficiency = oracle.efficiency(kernel, all);
        one.efficiency += efficiency;
        ++one.problems;
        std::printf("  %-10s %9.1f us  %6.2f %%  chosen in %10.1f us by %-6s %s\n", one.name, ms * 1e3,
                    efficiency * 100, us, ck_select::to_string(chosen.source).data(), kernel.name.c_str());
      }
    }
    for (const Contender& one : contenders)
      std::printf("%-10s mean efficiency %.2f %% over %d problems\n", one.name, one.efficiency / one.problems * 100,
                  one.problems);
    if (argc > 2)
      std::printf("model      chooses in %.1f us, median of 2000 new problems in a row\n",
                  choosing_in_a_row(contenders[0].registry, direction));
    Memory::instance().release();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
