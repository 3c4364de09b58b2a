/* ck_select for C++17: the C interface with RAII, values and exceptions. Header-only.
 *
 *     ck_select::Registry registry;
 *     registry.add("grouped_conv_forward_bf16_2d_64x128x64_compv4");
 *     registry.load_model("models/conv");
 *     const auto problem = ck_select::ConvProblem().batch(16).channels(256, 128).input(28, 28).filter(3, 3).padding(1, 1);
 *     const ck_select::Selection chosen = registry.select(problem);
 *
 * Failures throw ck_select::Error, which has the status and the library's message. For the hot path, try_select is noexcept
 * and returns the status instead; ck_select::status_of does the same for any call. ck_select::last_error() returns the
 * message of the calling thread's last failure.
 *
 * Threads: as in ck_select.h. Any number of threads may use one Registry, even while others change it; only one thread
 * may move or destroy it.
 */

#ifndef CK_SELECT_HPP
#define CK_SELECT_HPP

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ck_select.h"

namespace ck_select {

/// The result of a call. Later libraries may return values that are not listed here.
enum class Status : std::int32_t {
  ok = CK_STATUS_OK,
  null_pointer = CK_STATUS_NULL_POINTER,
  invalid_argument = CK_STATUS_INVALID_ARGUMENT,
  invalid_struct = CK_STATUS_INVALID_STRUCT,
  not_utf8 = CK_STATUS_NOT_UTF8,
  invalid_problem = CK_STATUS_INVALID_PROBLEM,
  invalid_kernel = CK_STATUS_INVALID_KERNEL,
  already_registered = CK_STATUS_ALREADY_REGISTERED,
  not_found = CK_STATUS_NOT_FOUND,
  no_kernel = CK_STATUS_NO_KERNEL,
  override_failed = CK_STATUS_OVERRIDE_FAILED,
  invalid_model = CK_STATUS_INVALID_MODEL,
  no_model = CK_STATUS_NO_MODEL,
  io = CK_STATUS_IO,
  buffer_too_small = CK_STATUS_BUFFER_TOO_SMALL,
  panic = CK_STATUS_PANIC,
  cannot_measure = CK_STATUS_CANNOT_MEASURE,
};

enum class Direction : std::int32_t {
  forward = CK_DIRECTION_FORWARD,
  bwd_data = CK_DIRECTION_BWD_DATA,
  bwd_weight = CK_DIRECTION_BWD_WEIGHT,
};

enum class Dtype : std::int32_t {
  fp16 = CK_DTYPE_FP16,
  bf16 = CK_DTYPE_BF16,
  fp32 = CK_DTYPE_FP32,
  fp64 = CK_DTYPE_FP64,
  fp8 = CK_DTYPE_FP8,
  bf8 = CK_DTYPE_BF8,
  int8 = CK_DTYPE_INT8,
  int4 = CK_DTYPE_INT4,
  int32 = CK_DTYPE_INT32,
  pk_fp4 = CK_DTYPE_PK_FP4,
  pk_int4 = CK_DTYPE_PK_INT4,
  fp8fp16 = CK_DTYPE_FP8_FP16,
  fp8bf16 = CK_DTYPE_FP8_BF16,
  fp8fp32 = CK_DTYPE_FP8_FP32,
  mxfp8 = CK_DTYPE_MXFP8,
  mxfp4 = CK_DTYPE_MXFP4,
};

enum class Major : std::int32_t { row = CK_MAJOR_ROW, col = CK_MAJOR_COL, packed = CK_MAJOR_PACKED };

enum class ConvLayout : std::int32_t {
  nwgc = CK_CONV_LAYOUT_NWGC,
  nhwgc = CK_CONV_LAYOUT_NHWGC,
  ndhwgc = CK_CONV_LAYOUT_NDHWGC,
  nwc = CK_CONV_LAYOUT_NWC,
  nhwc = CK_CONV_LAYOUT_NHWC,
  ndhwc = CK_CONV_LAYOUT_NDHWC,
  gnwc = CK_CONV_LAYOUT_GNWC,
  gnhwc = CK_CONV_LAYOUT_GNHWC,
  gndhwc = CK_CONV_LAYOUT_GNDHWC,
  ngcw = CK_CONV_LAYOUT_NGCW,
  ngchw = CK_CONV_LAYOUT_NGCHW,
  ngcdhw = CK_CONV_LAYOUT_NGCDHW,
  ncw = CK_CONV_LAYOUT_NCW,
  nchw = CK_CONV_LAYOUT_NCHW,
  ncdhw = CK_CONV_LAYOUT_NCDHW,
};

enum class Target : std::int32_t {
  tflops = CK_TARGET_TFLOPS,
  latency = CK_TARGET_LATENCY,
  bandwidth = CK_TARGET_BANDWIDTH,
  relative = CK_TARGET_RELATIVE,
};

enum class Mode : std::int32_t {
  model = CK_MODE_MODEL,
  search = CK_MODE_SEARCH,
  refine = CK_MODE_REFINE,
  priority = CK_MODE_PRIORITY,
};

enum class Op : std::int32_t { gemm = CK_OP_GEMM, grouped_conv = CK_OP_GROUPED_CONV, fmha = CK_OP_FMHA };

enum class Source : std::int32_t {
  override_file = CK_SOURCE_OVERRIDE,
  store = CK_SOURCE_STORE,
  model = CK_SOURCE_MODEL,
  search = CK_SOURCE_SEARCH,
  priority = CK_SOURCE_PRIORITY,
  estimate = CK_SOURCE_ESTIMATE,
};

namespace detail {

struct Word {
  std::string_view text;
  std::int32_t number;
};

// The words used in files and kernel names.
inline constexpr Word dtype_words[] = {
    {"fp16", CK_DTYPE_FP16}, {"bf16", CK_DTYPE_BF16},       {"fp32", CK_DTYPE_FP32},       {"fp64", CK_DTYPE_FP64},
    {"fp8", CK_DTYPE_FP8},   {"bf8", CK_DTYPE_BF8},         {"int8", CK_DTYPE_INT8},       {"int4", CK_DTYPE_INT4},
    {"int32", CK_DTYPE_INT32}, {"pk_fp4", CK_DTYPE_PK_FP4}, {"pk_int4", CK_DTYPE_PK_INT4},
    {"fp8fp16", CK_DTYPE_FP8_FP16}, {"fp8bf16", CK_DTYPE_FP8_BF16}, {"fp8fp32", CK_DTYPE_FP8_FP32},
    {"mxfp8", CK_DTYPE_MXFP8}, {"mxfp4", CK_DTYPE_MXFP4},
};
inline constexpr Word layout_words[] = {
    {"nwgc", CK_CONV_LAYOUT_NWGC},   {"nhwgc", CK_CONV_LAYOUT_NHWGC}, {"ndhwgc", CK_CONV_LAYOUT_NDHWGC},
    {"nwc", CK_CONV_LAYOUT_NWC},     {"nhwc", CK_CONV_LAYOUT_NHWC},   {"ndhwc", CK_CONV_LAYOUT_NDHWC},
    {"gnwc", CK_CONV_LAYOUT_GNWC},   {"gnhwc", CK_CONV_LAYOUT_GNHWC}, {"gndhwc", CK_CONV_LAYOUT_GNDHWC},
    {"ngcw", CK_CONV_LAYOUT_NGCW},   {"ngchw", CK_CONV_LAYOUT_NGCHW}, {"ngcdhw", CK_CONV_LAYOUT_NGCDHW},
    {"ncw", CK_CONV_LAYOUT_NCW},     {"nchw", CK_CONV_LAYOUT_NCHW},   {"ncdhw", CK_CONV_LAYOUT_NCDHW},
};
inline constexpr Word major_words[] = {{"r", CK_MAJOR_ROW}, {"c", CK_MAJOR_COL}, {"p", CK_MAJOR_PACKED}};
inline constexpr Word source_words[] = {
    {"override", CK_SOURCE_OVERRIDE}, {"store", CK_SOURCE_STORE},       {"model", CK_SOURCE_MODEL},
    {"search", CK_SOURCE_SEARCH},     {"priority", CK_SOURCE_PRIORITY}, {"estimate", CK_SOURCE_ESTIMATE},
};

template <std::size_t N>
[[nodiscard]] constexpr std::string_view text_of(const Word (&words)[N], std::int32_t number) noexcept {
  for (const Word& word : words) {
    if (word.number == number) return word.text;
  }
  return "unknown";
}

template <class Enum, std::size_t N>
[[nodiscard]] constexpr std::optional<Enum> number_of(const Word (&words)[N], std::string_view text) noexcept {
  for (const Word& word : words) {
    if (word.text == text) return static_cast<Enum>(word.number);
  }
  return std::nullopt;
}

}  // namespace detail

[[nodiscard]] inline std::string_view to_string(Status status) noexcept {
  return ck_status_text(static_cast<std::int32_t>(status));
}
[[nodiscard]] constexpr std::string_view to_string(Dtype dtype) noexcept {
  return detail::text_of(detail::dtype_words, static_cast<std::int32_t>(dtype));
}
[[nodiscard]] constexpr std::string_view to_string(ConvLayout layout) noexcept {
  return detail::text_of(detail::layout_words, static_cast<std::int32_t>(layout));
}
[[nodiscard]] constexpr std::string_view to_string(Source source) noexcept {
  return detail::text_of(detail::source_words, static_cast<std::int32_t>(source));
}
/// The type that a word such as "bf16" names.
[[nodiscard]] constexpr std::optional<Dtype> dtype_from(std::string_view word) noexcept {
  return detail::number_of<Dtype>(detail::dtype_words, word);
}
/// The layout that a word such as "nhwgc" names.
[[nodiscard]] constexpr std::optional<ConvLayout> layout_from(std::string_view word) noexcept {
  return detail::number_of<ConvLayout>(detail::layout_words, word);
}
/// The memory order that "r", "c" or "p" names.
[[nodiscard]] constexpr std::optional<Major> major_from(std::string_view word) noexcept {
  return detail::number_of<Major>(detail::major_words, word);
}

/// The version of the loaded library, such as "0.1.0".
[[nodiscard]] inline std::string_view version() noexcept { return ck_select_version(); }

/// The message of the calling thread's last failure.
[[nodiscard]] inline std::string last_error() { return ck_last_error(); }

/// A failed call.
class Error : public std::runtime_error {
 public:
  Error(Status status, const std::string& message) : std::runtime_error(message), status_(status) {}

  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  Status status_;
};

/// Runs the body and returns its status, for code without this library's exceptions:
/// `status_of([&] { registry.load_model("models/conv"); })`. Other exceptions of the body, such as std::bad_alloc, propagate.
template <class Body>
[[nodiscard]] Status status_of(Body&& body) {
  try {
    std::forward<Body>(body)();
    return Status::ok;
  } catch (const Error& error) {
    return error.status();
  }
}

namespace detail {

inline void check(ck_status status) {
  if (status == CK_STATUS_OK) return;
  throw Error(static_cast<Status>(status), std::string(to_string(static_cast<Status>(status))) + ": " + ck_last_error());
}

/// An owned C string.
class CText {
 public:
  CText(std::string_view text, const char* what) : text_(text) {
    if (text_.find('\0') != std::string::npos) {
      throw Error(Status::invalid_argument, std::string(what) + ": contains a NUL character");
    }
  }

  [[nodiscard]] const char* get() const noexcept { return text_.c_str(); }
  /// NULL if it is empty.
  [[nodiscard]] const char* get_optional() const noexcept { return text_.empty() ? nullptr : text_.c_str(); }

 private:
  std::string text_;
};

/// A caller's string as a C string.
[[nodiscard]] inline const char* text(const std::string& text, const char* what) {
  if (text.find('\0') != std::string::npos) {
    throw Error(Status::invalid_argument, std::string(what) + ": contains a NUL character");
  }
  return text.c_str();
}

/// NULL if it is empty.
[[nodiscard]] inline const char* optional_text(const std::string& optional, const char* what) {
  return optional.empty() ? nullptr : text(optional, what);
}

/// An architecture stored beside the struct that points to it, without allocation.
class ArchText {
 public:
  void set(std::string_view arch) {
    if (arch.size() >= text_.size() || arch.find('\0') != std::string_view::npos) {
      throw Error(Status::invalid_argument, "arch: longer than 63 bytes, or contains a NUL character");
    }
    text_.fill('\0');
    std::copy(arch.begin(), arch.end(), text_.begin());
  }

  [[nodiscard]] const char* get_optional() const noexcept { return text_[0] == '\0' ? nullptr : text_.data(); }

 private:
  std::array<char, 64> text_{};
};

[[nodiscard]] inline const std::uint8_t* bytes_of(std::string_view bytes) noexcept {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace detail

/// A grouped convolution, see ck_conv_problem. Default: a forward bf16 NHWGC convolution with every extent 1.
class ConvProblem {
 public:
  ConvProblem() noexcept { ck_conv_problem_init(&raw_); }
  ConvProblem(const ConvProblem& other) noexcept : raw_(other.raw_), arch_(other.arch_) { point(); }
  ConvProblem& operator=(const ConvProblem& other) noexcept {
    raw_ = other.raw_;
    arch_ = other.arch_;
    point();
    return *this;
  }

  ConvProblem& direction(Direction value) noexcept { return set(raw_.direction, value); }
  ConvProblem& batch(std::int64_t n) noexcept { return set(raw_.n, n); }
  /// Input and output channels, totals over all groups.
  ConvProblem& channels(std::int64_t c, std::int64_t k) noexcept { return set(raw_.c, c).set(raw_.k, k); }
  ConvProblem& groups(std::int64_t g) noexcept { return set(raw_.g, g); }

  /// One to three extents in the order depth, height, width; their count is the number of dimensions.
  template <class... Extents>
  ConvProblem& input(Extents... extents) noexcept {
    raw_.ndim = static_cast<std::int32_t>(sizeof...(extents));
    return axes(raw_.input, 1, extents...);
  }
  template <class... Extents>
  ConvProblem& filter(Extents... extents) noexcept {
    return axes(raw_.filter, 1, extents...);
  }
  template <class... Steps>
  ConvProblem& stride(Steps... steps) noexcept {
    return axes(raw_.stride, 1, steps...);
  }
  template <class... Steps>
  ConvProblem& dilation(Steps... steps) noexcept {
    return axes(raw_.dilation, 1, steps...);
  }
  /// The same on both sides.
  template <class... Sizes>
  ConvProblem& padding(Sizes... sizes) noexcept {
    return padding_left(sizes...).padding_right(sizes...);
  }
  template <class... Sizes>
  ConvProblem& padding_left(Sizes... sizes) noexcept {
    return axes(raw_.pad_left, 0, sizes...);
  }
  template <class... Sizes>
  ConvProblem& padding_right(Sizes... sizes) noexcept {
    return axes(raw_.pad_right, 0, sizes...);
  }

  ConvProblem& split_k(std::int32_t parts) noexcept { return set(raw_.split_k, parts); }
  /// Sets the type of all three operands.
  ConvProblem& dtype(Dtype value) noexcept { return dtypes(value, value, value); }
  ConvProblem& dtypes(Dtype in, Dtype wei, Dtype out) noexcept {
    return set(raw_.dtype_in, in).set(raw_.dtype_wei, wei).set(raw_.dtype_out, out);
  }
  ConvProblem& layout(ConvLayout value) noexcept { return set(raw_.layout, value); }
  /// Empty for the registry's default.
  ConvProblem& arch(std::string_view arch) {
    arch_.set(arch);
    point();
    return *this;
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const ck_conv_problem& capi() const noexcept { return raw_; }
  /// For fields without a setter. `arch` belongs to this object: set it with arch().
  [[nodiscard]] ck_conv_problem& capi() noexcept { return raw_; }

 private:
  template <class Field, class Value>
  ConvProblem& set(Field& field, Value value) noexcept {
    field = static_cast<Field>(value);
    return *this;
  }

  template <class... Values>
  ConvProblem& axes(std::int64_t (&field)[3], std::int64_t rest, Values... values) noexcept {
    static_assert(sizeof...(values) >= 1 && sizeof...(values) <= 3, "one to three axes: depth, height, width");
    std::fill(std::begin(field), std::end(field), rest);
    std::size_t at = 3 - sizeof...(values);
    ((field[at++] = static_cast<std::int64_t>(values)), ...);
    return *this;
  }

  void point() noexcept { raw_.arch = arch_.get_optional(); }

  ck_conv_problem raw_{};
  detail::ArchText arch_;
};

/// A GEMM, see ck_gemm_problem. Default: 1x1x1, fp8, layout rcr.
class GemmProblem {
 public:
  GemmProblem() noexcept { ck_gemm_problem_init(&raw_); }
  GemmProblem(std::int64_t m, std::int64_t n, std::int64_t k) noexcept : GemmProblem() { size(m, n, k); }
  GemmProblem(const GemmProblem& other) noexcept : raw_(other.raw_), arch_(other.arch_) { point(); }
  GemmProblem& operator=(const GemmProblem& other) noexcept {
    raw_ = other.raw_;
    arch_ = other.arch_;
    point();
    return *this;
  }

  GemmProblem& size(std::int64_t m, std::int64_t n, std::int64_t k) noexcept {
    raw_.m = m;
    raw_.n = n;
    raw_.k = k;
    return *this;
  }
  GemmProblem& split_k(std::int32_t parts) noexcept {
    raw_.split_k = parts;
    return *this;
  }
  GemmProblem& dtypes(Dtype a, Dtype b, Dtype c) noexcept {
    raw_.dtype_a = static_cast<std::int32_t>(a);
    raw_.dtype_b = static_cast<std::int32_t>(b);
    raw_.dtype_c = static_cast<std::int32_t>(c);
    return *this;
  }
  GemmProblem& layout(Major a, Major b, Major c) noexcept {
    raw_.layout_a = static_cast<std::int32_t>(a);
    raw_.layout_b = static_cast<std::int32_t>(b);
    raw_.layout_c = static_cast<std::int32_t>(c);
    return *this;
  }
  /// Empty for the registry's default.
  GemmProblem& arch(std::string_view arch) {
    arch_.set(arch);
    point();
    return *this;
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const ck_gemm_problem& capi() const noexcept { return raw_; }
  /// For fields without a setter. `arch` belongs to this object: set it with arch().
  [[nodiscard]] ck_gemm_problem& capi() noexcept { return raw_; }

 private:
  void point() noexcept { raw_.arch = arch_.get_optional(); }

  ck_gemm_problem raw_{};
  detail::ArchText arch_;
};

/// Attention, see ck_fmha_problem. Default: forward, fp16, one sequence with one query, key and head of 128 elements. Fields
/// without a setter are set through capi().
class FmhaProblem {
 public:
  FmhaProblem() noexcept { ck_fmha_problem_init(&raw_); }
  FmhaProblem(const FmhaProblem& other) noexcept : raw_(other.raw_), arch_(other.arch_) { point(); }
  FmhaProblem& operator=(const FmhaProblem& other) noexcept {
    raw_ = other.raw_;
    arch_ = other.arch_;
    point();
    return *this;
  }

  FmhaProblem& lengths(std::int64_t batch, std::int64_t queries, std::int64_t keys) noexcept {
    raw_.batch = batch;
    raw_.seqlen_q = queries;
    raw_.seqlen_k = keys;
    return *this;
  }
  FmhaProblem& heads(std::int64_t queries, std::int64_t keys) noexcept {
    raw_.nhead_q = queries;
    raw_.nhead_k = keys;
    return *this;
  }
  FmhaProblem& hdims(std::int64_t queries, std::int64_t values) noexcept {
    raw_.hdim_q = queries;
    raw_.hdim_v = values;
    return *this;
  }
  FmhaProblem& dtype(Dtype dtype) noexcept {
    raw_.dtype = static_cast<std::int32_t>(dtype);
    return *this;
  }
  /// For which stage a kernel is chosen; the API must be the one that has it.
  FmhaProblem& stage(ck_fmha_api api, ck_fmha_family family) noexcept {
    raw_.api_family = api;
    raw_.family = family;
    return *this;
  }
  /// Empty for the registry's default.
  FmhaProblem& arch(std::string_view arch) {
    arch_.set(arch);
    point();
    return *this;
  }

  /// The C struct; valid while this object lives unchanged.
  [[nodiscard]] const ck_fmha_problem& capi() const noexcept { return raw_; }
  /// For fields without a setter. `arch` belongs to this object: set it with arch().
  [[nodiscard]] ck_fmha_problem& capi() noexcept { return raw_; }

 private:
  void point() noexcept { raw_.arch = arch_.get_optional(); }

  ck_fmha_problem raw_{};
  detail::ArchText arch_;
};

/// Options of a registry, see ck_options.
struct Options {
  Mode mode = Mode::model;
  /// Ignores the environment, except for CK_SELECT_LOG, which belongs to the process.
  bool ignore_environment = false;
  /// Empty for none.
  std::string override_file;
  /// The architecture of problems that name none; empty for any.
  std::string arch;
  /// The file that keeps measured winners, or "off" for memory only; empty leaves it to the environment.
  std::string store;
  /// The device whose winners the store keeps; empty asks the HIP runtime.
  std::string device_name;
  /// The stream to measure on; it must live as long as these options are used.
  void* stream = nullptr;
  /// How many of the model's best kernels Mode::refine measures.
  int refine = 3;
  /// How many of them Mode::model measures if the problem is outside the model's training range; 0 for none.
  int refine_out_of_range = 0;
  /// Whether Mode::model measures all kernels if no model serves the problem.
  bool search = false;
  /// Timed runs and warm-up runs of each kernel.
  int repeats = 10;
  int warmup = 3;
  /// Time limit of one search.
  std::chrono::duration<double, std::milli> budget = std::chrono::minutes(1);
  /// A kernel is abandoned if its runs take this many times longer than the best kernel's.
  double cutoff = 3;
  /// Time limit of one run. A kernel that takes longer is considered hung: it is abandoned, and the search with it.
  std::chrono::duration<double, std::milli> run_timeout = std::chrono::seconds(5);
  /// Measures with the host's clock, without a GPU, for callables that do all their work on the host. Requires `arch`.
  bool host_timing = false;
  /// Whether built-in models answer problems that no loaded model serves.
  bool embedded_models = false;
  /// Whether the estimate answers where nothing else does, before the priority.
  bool estimate = true;
};

/// The problems that a model serves, see ck_model_key. Empty fields match anything.
struct ModelKey {
  Op op = Op::grouped_conv;
  std::optional<Direction> direction;
  std::optional<Dtype> dtype;
  std::string arch;
};

/// Options of a model, see ck_model_options.
struct ModelOptions {
  /// Empty for the problems that the model's spec names.
  std::optional<ModelKey> key;
  /// Hardware constants for its features; empty for those of its spec.
  std::optional<ck_hardware> hardware;
  /// Makes it serve all problems of its operation, whatever its spec says. Must not be combined with `key`.
  bool force = false;
};

/// The hardware constants of an architecture; empty for those that upstream's models assume when they record none.
[[nodiscard]] inline ck_hardware hardware_of(std::string_view arch) {
  const detail::CText text(arch, "arch");
  ck_hardware hardware;
  detail::check(ck_hardware_init(&hardware, text.get_optional()));
  return hardware;
}

/// The names of the built-in models.
[[nodiscard]] inline std::vector<std::string_view> embedded_models() {
  std::vector<std::string_view> names;
  const char* name = nullptr;
  while (ck_embedded_model_name(names.size(), &name) == CK_STATUS_OK) names.emplace_back(name);
  return names;
}

/// What a call of Registry::tune did; see ck_tune_report.
struct TuneReport {
  std::size_t measured = 0;
  std::size_t improved = 0;
  std::size_t failed = 0;
  std::size_t waiting = 0;
  double saved_ms = 0;
  double elapsed_ms = 0;
};

/// The state of the store of measured winners.
struct StoreStatus {
  /// Number of winners that are only in memory and still have to be written.
  std::size_t waiting = 0;
  /// Why the store could not be used the last time; empty if it could.
  std::string reason;
};

/// Options of an export, see ck_export_options.
struct ExportOptions {
  std::string registry_name = "default";
  /// The time of a GEMM export, "YYYY-MM-DDThh:mm:ss"; empty omits it.
  std::string timestamp;
  bool statistics = false;
};

/// Descriptor of a convolution kernel, with the defaults of CK's key; see ck_conv_kernel_desc. Words are those of kernel
/// names.
struct ConvKernel {
  // Not an aggregate, so that braces around names do not become a descriptor.
  ConvKernel() {}

  /// Empty for the name of CK's code generator.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  Direction direction = Direction::forward;
  int ndim = 2;
  Dtype dtype_in = Dtype::bf16, dtype_wei = Dtype::bf16, dtype_out = Dtype::bf16;
  ConvLayout layout = ConvLayout::nhwgc;
  /// m, n, k.
  std::array<int, 3> tile{1, 128, 128}, wave{2, 2, 1}, warp_tile{32, 32, 16};
  /// Of A, B and C.
  std::array<int, 3> vector{4, 8, 8};
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle", specialization = "default";
  int block_per_cu = 1, num_wave_groups = 1, num_groups_to_merge = 1;
  bool double_smem_buffer = false, split_image = false, explicit_gemm = false, two_stage = false;
  /// Empty if it is not a stream-K kernel.
  std::string stream_k_reduction;
  bool stream_k_persistent = false;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_conv_kernel_desc capi() const {
    ck_conv_kernel_desc raw;
    detail::check(ck_conv_kernel_desc_init(&raw));
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.specialization = detail::optional_text(specialization, "specialization");
    raw.stream_k_reduction = detail::optional_text(stream_k_reduction, "stream_k_reduction");
    raw.direction = static_cast<std::int32_t>(direction);
    raw.ndim = ndim;
    raw.dtype_in = static_cast<std::int32_t>(dtype_in);
    raw.dtype_wei = static_cast<std::int32_t>(dtype_wei);
    raw.dtype_out = static_cast<std::int32_t>(dtype_out);
    raw.layout = static_cast<std::int32_t>(layout);
    std::copy(tile.begin(), tile.end(), raw.tile);
    std::copy(wave.begin(), wave.end(), raw.wave);
    std::copy(warp_tile.begin(), warp_tile.end(), raw.warp_tile);
    std::copy(vector.begin(), vector.end(), raw.vector);
    raw.block_per_cu = block_per_cu;
    raw.num_wave_groups = num_wave_groups;
    raw.num_groups_to_merge = num_groups_to_merge;
    raw.double_smem_buffer = double_smem_buffer ? 1 : 0;
    raw.split_image = split_image ? 1 : 0;
    raw.explicit_gemm = explicit_gemm ? 1 : 0;
    raw.two_stage = two_stage ? 1 : 0;
    raw.stream_k_persistent = stream_k_persistent ? 1 : 0;
    return raw;
  }
};

/// Descriptor of a GEMM kernel, see ck_gemm_kernel_desc. Words are those of kernel names.
struct GemmKernel {
  GemmKernel() {}

  /// Empty for CK's identifier.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  Dtype dtype_a = Dtype::fp8, dtype_b = Dtype::fp8, dtype_c = Dtype::fp16, dtype_acc = Dtype::fp32;
  Major layout_a = Major::row, layout_b = Major::col, layout_c = Major::row;
  bool transpose_a = false, transpose_b = false, grouped = false;
  int split_k = 1;
  std::string elementwise = "PassThrough";
  int num_d_tensors = 0;
  bool structured_sparsity = false;
  /// m, n, k.
  std::array<int, 3> tile{128, 128, 64}, wave{2, 2, 1}, warp_tile{32, 32, 16};
  std::array<bool, 3> pad{true, true, true};
  /// Of A, B and C; 0 for the kernel's own.
  std::array<int, 3> vector{0, 0, 0};
  std::string pipeline = "compv3", scheduler = "intrawave", epilogue = "cshuffle";
  int block_size = 0;
  bool double_buffer = false, persistent = false, preshuffle = false, transpose_c = false;
  int num_wave_groups = 1;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_gemm_kernel_desc capi() const {
    ck_gemm_kernel_desc raw;
    detail::check(ck_gemm_kernel_desc_init(&raw));
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.scheduler = detail::text(scheduler, "scheduler");
    raw.epilogue = detail::text(epilogue, "epilogue");
    raw.elementwise = detail::optional_text(elementwise, "elementwise");
    raw.dtype_a = static_cast<std::int32_t>(dtype_a);
    raw.dtype_b = static_cast<std::int32_t>(dtype_b);
    raw.dtype_c = static_cast<std::int32_t>(dtype_c);
    raw.dtype_acc = static_cast<std::int32_t>(dtype_acc);
    raw.layout_a = static_cast<std::int32_t>(layout_a);
    raw.layout_b = static_cast<std::int32_t>(layout_b);
    raw.layout_c = static_cast<std::int32_t>(layout_c);
    raw.transpose_a = transpose_a ? 1 : 0;
    raw.transpose_b = transpose_b ? 1 : 0;
    raw.grouped = grouped ? 1 : 0;
    raw.split_k = split_k;
    raw.num_d_tensors = num_d_tensors;
    raw.structured_sparsity = structured_sparsity ? 1 : 0;
    std::copy(tile.begin(), tile.end(), raw.tile);
    std::copy(wave.begin(), wave.end(), raw.wave);
    std::copy(warp_tile.begin(), warp_tile.end(), raw.warp_tile);
    std::copy(pad.begin(), pad.end(), raw.pad);
    std::copy(vector.begin(), vector.end(), raw.vector);
    raw.block_size = block_size;
    raw.double_buffer = double_buffer ? 1 : 0;
    raw.persistent = persistent ? 1 : 0;
    raw.preshuffle = preshuffle ? 1 : 0;
    raw.transpose_c = transpose_c ? 1 : 0;
    raw.num_wave_groups = num_wave_groups;
    return raw;
  }
};

/// Descriptor of an attention kernel, see ck_fmha_kernel_desc: its words here, its numbers in `key`.
struct FmhaKernel {
  FmhaKernel() { detail::check(ck_fmha_kernel_desc_init(&key)); }

  /// Empty for CK's identifier.
  std::string name;
  /// Empty if unknown.
  std::string arch;
  std::string pipeline = "qr";
  std::string constraint_tag;
  /// Its strings are those of this object.
  ck_fmha_kernel_desc key;

  /// The C struct, with pointers to this object's strings.
  [[nodiscard]] ck_fmha_kernel_desc capi() const {
    ck_fmha_kernel_desc raw = key;
    raw.name = detail::optional_text(name, "name");
    raw.arch = detail::optional_text(arch, "arch");
    raw.pipeline = detail::text(pipeline, "pipeline");
    raw.constraint_tag = detail::optional_text(constraint_tag, "constraint_tag");
    return raw;
  }
};

/// Callables, user data and priority of a kernel. Callables run on any thread, several at a time, and live as long as
/// the registry. One that throws counts as "no".
struct Hooks {
  int priority = 1;
  void* user = nullptr;
  std::function<bool(const ck_conv_problem&)> supports_conv;
  std::function<bool(const ck_gemm_problem&)> supports_gemm;
  std::function<bool(const ck_fmha_problem&)> supports_fmha;
  /// Run the problem once, with all work on the stream. They return the milliseconds by their own timing; 0 if the
  /// kernel was only launched, so that events time it; less than 0 if it could not be run. One that throws could not run.
  std::function<float(const ck_conv_problem&, void* stream)> run_conv;
  std::function<float(const ck_gemm_problem&, void* stream)> run_gemm;
  std::function<float(const ck_fmha_problem&, void* stream)> run_fmha;
};

struct NewKernel {
  std::string name;
  Hooks hooks;
};

struct NewConvKernel {
  ConvKernel kernel;
  Hooks hooks;
};

struct NewGemmKernel {
  GemmKernel kernel;
  Hooks hooks;
};

struct NewFmhaKernel {
  FmhaKernel kernel;
  Hooks hooks;
};

/// A registered kernel. Names are NUL-terminated and live until the registry is destroyed or, once removed, compacted.
struct KernelInfo {
  std::string_view name;
  void* user = nullptr;
  std::size_t index = 0;
  int priority = 0;
};

/// A chosen kernel, see ck_selection.
struct Selection {
  /// NUL-terminated; lives until the registry is destroyed or, once the kernel is removed, compacted.
  std::string_view name;
  void* user = nullptr;
  std::size_t index = 0;
  std::size_t rank = 0;
  std::size_t unsupported = 0;
  /// Empty if no model was asked.
  std::optional<double> score;
  /// Empty if it was not measured.
  std::optional<std::chrono::duration<double, std::milli>> measured;
  std::uint64_t generation = 0;
  Source source = Source::priority;
  bool out_of_range = false;
  /// The fields that are out of range, one bit each; see field_names().
  std::uint64_t out_of_range_fields = 0;
  /// No kernel measured for the model had this kernel's pipeline or suffixes.
  bool unmeasured = false;
  /// The model is for one architecture, and neither problem nor options name one: the device may be different.
  bool arch_unknown = false;
  /// The first kernel by priority, because no model and no other source had an answer.
  bool no_model = false;
  /// The model is a universal one, which ranks for any GPU, direction and type.
  bool generic = false;
};

/// The names of the bits in Selection::out_of_range_fields.
[[nodiscard]] inline std::vector<std::string_view> field_names(Op op, std::uint64_t fields) {
  std::vector<std::string_view> names;
  const char* name = nullptr;
  for (std::size_t bit = 0; ck_problem_field_name(static_cast<std::int32_t>(op), bit, &name) == CK_STATUS_OK; ++bit) {
    if ((fields >> bit & 1) != 0) names.emplace_back(name);
  }
  return names;
}

/// One place of a ranking.
struct Ranked {
  std::string_view name;
  void* user = nullptr;
  std::size_t index = 0;
  double score = 0;
  /// The previous or the next place has the same score.
  bool tied = false;
  /// No kernel measured for the model had this kernel's pipeline or suffixes.
  bool unmeasured = false;
};

/// A model's predictions for one kernel; empty for targets without a forest.
struct Predictions {
  std::optional<double> tflops;
  std::optional<std::chrono::duration<double, std::milli>> latency;
  std::optional<double> bandwidth_gb_s;
};

/// A LightGBM model in memory, plain or gzip.
struct Forest {
  Target target = Target::tflops;
  std::string_view bytes;
};

namespace detail {

// One name for all operations.
[[nodiscard]] inline const ck_conv_problem& raw(const ck_conv_problem& problem) noexcept { return problem; }
[[nodiscard]] inline const ck_conv_problem& raw(const ConvProblem& problem) noexcept { return problem.capi(); }
[[nodiscard]] inline const ck_gemm_problem& raw(const ck_gemm_problem& problem) noexcept { return problem; }
[[nodiscard]] inline const ck_gemm_problem& raw(const GemmProblem& problem) noexcept { return problem.capi(); }
[[nodiscard]] inline const ck_fmha_problem& raw(const ck_fmha_problem& problem) noexcept { return problem; }
[[nodiscard]] inline const ck_fmha_problem& raw(const FmhaProblem& problem) noexcept { return problem.capi(); }

template <class Problem>
struct Calls;

template <>
struct Calls<ck_conv_problem> {
  static constexpr auto select = ck_select_kernel;
  static constexpr auto rank = ck_rank_kernels;
  static constexpr auto predict = ck_predict;
  static constexpr auto features = ck_extract_features;
  static constexpr auto explain = ck_explain_selection;
};

template <>
struct Calls<ck_gemm_problem> {
  static constexpr auto select = ck_select_gemm_kernel;
  static constexpr auto rank = ck_rank_gemm_kernels;
  static constexpr auto predict = ck_predict_gemm;
  static constexpr auto features = ck_extract_gemm_features;
  static constexpr auto explain = ck_explain_gemm_selection;
};

template <>
struct Calls<ck_fmha_problem> {
  static constexpr auto select = ck_select_fmha_kernel;
  static constexpr auto rank = ck_rank_fmha_kernels;
  static constexpr auto predict = ck_predict_fmha;
  static constexpr auto features = ck_extract_fmha_features;
  static constexpr auto explain = ck_explain_fmha_selection;
};

template <class Problem>
using CallsFor = Calls<std::decay_t<decltype(raw(std::declval<const Problem&>()))>>;

/// A C output struct with its size set.
template <class Struct>
[[nodiscard]] Struct sized() noexcept {
  Struct made{};
  made.struct_size = sizeof(Struct);
  return made;
}

[[nodiscard]] inline std::optional<double> known(double value) noexcept {
  return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}

/// The C registry's user pointer of a kernel: its callables and the owner's pointer.
class Callables {
 public:
  explicit Callables(Hooks hooks) : hooks_(std::move(hooks)) {}

  [[nodiscard]] ck_kernel_hooks capi() noexcept {
    auto made = sized<ck_kernel_hooks>();
    made.user = this;
    made.priority = hooks_.priority;
    made.supports_conv = hooks_.supports_conv ? &supports_conv : nullptr;
    made.supports_gemm = hooks_.supports_gemm ? &supports_gemm : nullptr;
    made.run_conv = hooks_.run_conv ? &run_conv : nullptr;
    made.run_gemm = hooks_.run_gemm ? &run_gemm : nullptr;
    made.supports_fmha = hooks_.supports_fmha ? &supports_fmha : nullptr;
    made.run_fmha = hooks_.run_fmha ? &run_fmha : nullptr;
    return made;
  }

  [[nodiscard]] static void* user(void* callables) noexcept {
    return callables == nullptr ? nullptr : static_cast<Callables*>(callables)->hooks_.user;
  }

 private:
  // No exception may reach the library.
  static std::int32_t supports_conv(const ck_conv_problem* problem, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.supports_conv(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  static std::int32_t supports_gemm(const ck_gemm_problem* problem, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.supports_gemm(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  static std::int32_t supports_fmha(const ck_fmha_problem* problem, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.supports_fmha(*problem) ? 1 : 0;
    } catch (...) {
      return 0;
    }
  }
  static float run_fmha(const ck_fmha_problem* problem, void* stream, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.run_fmha(*problem, stream);
    } catch (...) {
      return -1;
    }
  }
  static float run_conv(const ck_conv_problem* problem, void* stream, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.run_conv(*problem, stream);
    } catch (...) {
      return -1;
    }
  }
  static float run_gemm(const ck_gemm_problem* problem, void* stream, void* user) noexcept {
    try {
      return static_cast<Callables*>(user)->hooks_.run_gemm(*problem, stream);
    } catch (...) {
      return -1;
    }
  }

  Hooks hooks_;
};

/// Owns the callables of a registry.
struct Keep {
  /// Keeps the callables of added kernels; those of kernels that could not be added are dropped.
  void take(std::list<Callables>& added) noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    callables.splice(callables.end(), added);
  }

  /// Drops callables that no kernel uses.
  void retain(const std::unordered_set<const void*>& used) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto is_unused = [&used](const auto& owned) { return used.count(&owned) == 0; };
    callables.remove_if(is_unused);
    for (auto at = plain.begin(); at != plain.end();) at = used.count(at->second.get()) == 0 ? plain.erase(at) : std::next(at);
  }

  /// For hooks without callables: always the same object, so that the library recognises a kernel that returns.
  Callables& without_callables(const Hooks& hooks) {
    const std::lock_guard<std::mutex> lock(mutex);
    auto& kept = plain[{hooks.user, hooks.priority}];
    if (!kept) kept = std::make_unique<Callables>(hooks);
    return *kept;
  }

  std::mutex mutex;
  std::list<Callables> callables;
  std::map<std::pair<void*, std::int32_t>, std::unique_ptr<Callables>> plain;
};

struct DestroyRegistry {
  void operator()(ck_registry* registry) const noexcept { ck_registry_destroy(registry); }
};

}  // namespace detail

/// Kernels, models and options. Move-only; a moved-from registry may only be destroyed or assigned to.
///
/// Add kernels through this class: the `user` of kernels that were added to capi() directly cannot be returned.
class Registry {
 public:
  Registry() : Registry(Options{}) {}

  explicit Registry(const Options& options) {
    if (ck_select_abi_version() != CK_SELECT_ABI_VERSION) {
      throw Error(Status::invalid_struct,
                  "libck_select " + std::string(version()) + " has binary interface " +
                      std::to_string(ck_select_abi_version()) + ", this program was compiled for " +
                      std::to_string(CK_SELECT_ABI_VERSION));
    }
    ck_registry* made = nullptr;
    with(options, [&](const ck_options& raw) { detail::check(ck_registry_create(&raw, &made)); });
    handle_.reset(made);
  }

  Registry(Registry&&) noexcept = default;
  Registry& operator=(Registry&& other) noexcept {
    // The handle is destroyed before the callables that it may call.
    handle_ = std::move(other.handle_);
    keep_ = std::move(other.keep_);
    return *this;
  }

  [[nodiscard]] ck_registry* capi() const noexcept { return handle_.get(); }

  /// Releases the handle, for ck_registry_destroy. The second element owns the callables and must outlive the handle.
  [[nodiscard]] std::pair<ck_registry*, std::shared_ptr<void>> release() noexcept {
    return {handle_.release(), std::move(keep_)};
  }

  void set_options(const Options& options) {
    with(options, [&](const ck_options& raw) { detail::check(ck_registry_set_options(capi(), &raw)); });
  }

  /// Adds a kernel by name. A kernel of the same name is replaced if the new priority is higher.
  void add(std::string_view name, Hooks hooks = {}) {
    const detail::CText text(name, "kernel name");
    std::list<detail::Callables> added;
    const ck_kernel_hooks raw = raw_hooks(std::move(hooks), added);
    detail::check(ck_registry_add_kernel(capi(), text.get(), &raw));
    keep_->take(added);
  }

  /// Adds all of them or, if one cannot be added, none.
  void add(std::vector<NewKernel> kernels) {
    std::vector<detail::CText> texts;
    std::vector<const char*> names;
    std::vector<ck_kernel_hooks> hooks;
    std::list<detail::Callables> added;
    texts.reserve(kernels.size());
    for (NewKernel& kernel : kernels) {
      names.push_back(texts.emplace_back(kernel.name, "kernel name").get());
      hooks.push_back(raw_hooks(std::move(kernel.hooks), added));
    }
    detail::check(ck_registry_add_kernels(capi(), names.data(), hooks.data(), names.size()));
    keep_->take(added);
  }

  /// Adds a kernel by descriptor.
  void add(const ConvKernel& kernel, Hooks hooks = {}) { add_described(ck_registry_add_conv_kernels, one(kernel, hooks)); }
  void add(const GemmKernel& kernel, Hooks hooks = {}) { add_described(ck_registry_add_gemm_kernels, one(kernel, hooks)); }
  void add(const FmhaKernel& kernel, Hooks hooks = {}) { add_described(ck_registry_add_fmha_kernels, one(kernel, hooks)); }

  /// Adds all of them or, if one cannot be added, none.
  void add_conv(std::vector<NewConvKernel> kernels) { add_described(ck_registry_add_conv_kernels, std::move(kernels)); }
  void add_gemm(std::vector<NewGemmKernel> kernels) { add_described(ck_registry_add_gemm_kernels, std::move(kernels)); }
  void add_fmha(std::vector<NewFmhaKernel> kernels) { add_described(ck_registry_add_fmha_kernels, std::move(kernels)); }

  /// Into how many parts the keys of a sequence are split, see ck_choose_fmha_splits.
  [[nodiscard]] std::int64_t fmha_splits(const FmhaProblem& problem, std::int64_t most) const {
    std::int64_t splits = 1;
    detail::check(ck_choose_fmha_splits(capi(), &problem.capi(), most, &splits));
    return splits;
  }

  [[nodiscard]] std::size_t size() const {
    std::size_t size = 0;
    detail::check(ck_registry_size(capi(), &size));
    return size;
  }

  /// The kernel at an index in the order of registration; empty if there is none.
  [[nodiscard]] std::optional<KernelInfo> kernel_at(std::size_t index) const {
    return info([&](ck_kernel_info* raw) { return ck_registry_kernel_at(capi(), index, raw); });
  }

  /// The kernel with a name; empty if there is none.
  [[nodiscard]] std::optional<KernelInfo> find(std::string_view name) const {
    const detail::CText text(name, "kernel name");
    return info([&](ck_kernel_info* raw) { return ck_registry_find(capi(), text.get(), raw); });
  }

  /// All kernels in the order of registration; not a snapshot if another thread changes the registry meanwhile.
  [[nodiscard]] std::vector<KernelInfo> kernels() const {
    std::vector<KernelInfo> all;
    while (const auto kernel = kernel_at(all.size())) all.push_back(*kernel);
    return all;
  }

  /// Removes the kernels of other architectures; returns their number.
  std::size_t retain_arch(std::string_view arch) {
    const detail::CText text(arch, "arch");
    std::size_t removed = 0;
    detail::check(ck_registry_retain_arch(capi(), text.get(), &removed));
    return removed;
  }

  /// Removes the kernel with a name; false if there is none.
  bool remove(std::string_view name) {
    const detail::CText text(name, "kernel name");
    const ck_status status = ck_registry_remove_kernel(capi(), text.get());
    if (status == CK_STATUS_NOT_FOUND) return false;
    detail::check(status);
    return true;
  }

  void clear() { detail::check(ck_registry_clear(capi())); }

  /// Frees the memory of kernels that were removed or replaced, with their callables, and returns their number. Until
  /// then their names stay valid. A returning kernel is recognised only if its hooks have no callables, so a program that
  /// keeps adding and removing kernels with callables should call this now and then. No other thread may use the registry
  /// during the call.
  std::size_t compact() {
    std::size_t removed = 0;
    detail::check(ck_registry_compact(capi(), &removed));
    std::unordered_set<const void*> used;
    auto info = detail::sized<ck_kernel_info>();
    for (std::size_t at = 0; ck_registry_kernel_at(capi(), at, &info) == CK_STATUS_OK; ++at) used.insert(info.user);
    keep_->retain(used);
    return removed;
  }

  /// Increases with every change of kernels, models and options.
  [[nodiscard]] std::uint64_t generation() const {
    std::uint64_t generation = 0;
    detail::check(ck_registry_generation(capi(), &generation));
    return generation;
  }

  /// Adds the kernels of a JSON export of a CK registry, all or none, without callables.
  void import_json(std::string_view json) {
    detail::check(ck_registry_import_json(capi(), detail::bytes_of(json), json.size(), nullptr, nullptr));
  }

  /// The same with the hooks that `hooks_of` returns for each kernel's name; kernels for which it returns none are skipped.
  /// Its exceptions propagate, and then no kernel is added.
  template <class HooksOf>
  void import_json(std::string_view json, HooksOf hooks_of) {
    struct Import {
      Registry& registry;
      HooksOf& hooks_of;
      std::list<detail::Callables> added;
      std::exception_ptr thrown;
    } import{*this, hooks_of, {}, nullptr};
    const auto ask = [](const char* name, ck_kernel_hooks* raw, void* user) noexcept -> std::int32_t {
      auto& asked = *static_cast<Import*>(user);
      if (asked.thrown) return 0;
      try {
        std::optional<Hooks> hooks = asked.hooks_of(std::string_view(name));
        if (!hooks) return 0;
        *raw = asked.registry.raw_hooks(std::move(*hooks), asked.added);
      } catch (...) {
        asked.thrown = std::current_exception();
        raw->struct_size = 0;  // ends the import
      }
      return 1;
    };
    const ck_status status =
        ck_registry_import_json(capi(), detail::bytes_of(json), json.size(), +ask, &import);
    if (import.thrown) std::rethrow_exception(import.thrown);
    detail::check(status);
    keep_->take(import.added);
  }

  /// The kernels of one operation in the JSON format of CK's registry for that operation.
  [[nodiscard]] std::string export_json(Op op, const ExportOptions& options = {}) const {
    auto raw = detail::sized<ck_export_options>();
    raw.registry_name = detail::text(options.registry_name, "registry_name");
    raw.timestamp = detail::optional_text(options.timestamp, "timestamp");
    raw.statistics = options.statistics ? 1 : 0;
    char* made = nullptr;
    detail::check(ck_registry_export_json(capi(), static_cast<std::int32_t>(op), &raw, &made));
    const std::unique_ptr<char, void (*)(char*)> json(made, ck_string_free);
    return json.get();
  }

  /// Loads a model directory, or "embedded:NAME".
  void load_model(std::string_view directory, const ModelOptions& options = {}) {
    const detail::CText text(directory, "directory");
    with(options, [&](const ck_model_options& raw) { detail::check(ck_registry_load_model(capi(), text.get(), &raw)); });
  }

  /// Loads a built-in model.
  void load_embedded(std::string_view name, const ModelOptions& options = {}) {
    const detail::CText text(name, "name");
    with(options,
         [&](const ck_model_options& raw) { detail::check(ck_registry_load_embedded(capi(), text.get(), &raw)); });
  }

  /// Loads a model from memory; `name` is its name in messages.
  void load_model(std::string_view name, std::string_view spec, const std::vector<Forest>& forests,
                  const ModelOptions& options = {}) {
    const detail::CText text(name, "name");
    std::vector<ck_forest_bytes> raw;
    for (const Forest& forest : forests) {
      auto& part = raw.emplace_back(detail::sized<ck_forest_bytes>());
      part.target = static_cast<std::int32_t>(forest.target);
      part.bytes = detail::bytes_of(forest.bytes);
      part.len = forest.bytes.size();
    }
    with(options, [&](const ck_model_options& usage) {
      detail::check(ck_registry_load_model_bytes(capi(), text.get(), detail::bytes_of(spec), spec.size(), raw.data(),
                                                 raw.size(), &usage));
    });
  }

  /// Removes the model that was loaded for these problems; false if there is none.
  bool remove_model(const ModelKey& key) {
    const ck_model_key raw = raw_key(key);
    const ck_status status = ck_registry_remove_model(capi(), &raw);
    if (status == CK_STATUS_NOT_FOUND) return false;
    detail::check(status);
    return true;
  }

  void remove_models() { detail::check(ck_registry_remove_models(capi())); }

  /// Prepares the models for the current kernels; otherwise the first selection after a change does.
  void prepare() { detail::check(ck_registry_prepare(capi())); }

  /// Reads the winners that other processes have stored. It reads a file: call it now and then, not before each selection.
  void refresh_store() { detail::check(ck_registry_refresh_store(capi())); }

  /// How many winners are only in memory, because the store could not be written, and the reason.
  [[nodiscard]] StoreStatus store_status() const {
    StoreStatus status;
    char* raw = nullptr;
    detail::check(ck_registry_store_status(capi(), &status.waiting, &raw));
    const std::unique_ptr<char, void (*)(char*)> reason(raw, ck_string_free);
    if (reason) status.reason = reason.get();
    return status;
  }

  /// Measures what was asked most and is answered by a guess, within a time; see ck_registry_tune. `kernels` is how many of a
  /// problem's best are measured, `stream` a hipStream_t, null for that of the options.
  TuneReport tune(std::chrono::duration<double, std::milli> time, std::int32_t kernels = 3, void* stream = nullptr) {
    const ck_tune_budget budget{sizeof budget, time.count(), stream, kernels, 0};
    ck_tune_report raw{};
    raw.struct_size = sizeof raw;
    detail::check(ck_registry_tune(capi(), &budget, &raw));
    TuneReport report;
    report.measured = raw.measured;
    report.improved = raw.improved;
    report.failed = raw.failed;
    report.waiting = raw.waiting;
    report.saved_ms = raw.saved_ms;
    report.elapsed_ms = raw.elapsed_ms;
    return report;
  }

  // The calls below take a ConvProblem, a GemmProblem, an FmhaProblem, or one of the C structs.

  /// Chooses the kernel to run.
  template <class Problem>
  [[nodiscard]] Selection select(const Problem& problem) const {
    Selection selection;
    detail::check(call_select(problem, selection));
    return selection;
  }

  /// The same without exceptions: `selection` is written when the status is ok.
  template <class Problem>
  [[nodiscard]] Status try_select(const Problem& problem, Selection& selection) const noexcept {
    return static_cast<Status>(call_select(problem, selection));
  }

  /// The best `limit` kernels by the model that serves the problem, best first; `supports` is not called.
  template <class Problem>
  [[nodiscard]] std::vector<Ranked> rank(
      const Problem& problem, std::size_t limit = std::numeric_limits<std::size_t>::max(),
      std::size_t* left_out = nullptr) const {
    std::vector<ck_ranked> raw(std::min(limit, size()));
    std::size_t count = 0;
    detail::check(
        detail::CallsFor<Problem>::rank(capi(), &detail::raw(problem), raw.size(), raw.data(), &count, left_out));
    raw.resize(std::min(count, raw.size()));
    std::vector<Ranked> ranked;
    ranked.reserve(raw.size());
    for (const ck_ranked& place : raw) {
      ranked.push_back({place.name, detail::Callables::user(place.user), place.index, place.score, place.tied != 0,
                        place.unmeasured != 0});
    }
    return ranked;
  }

  /// The serving model's predictions for the kernel at an index.
  template <class Problem>
  [[nodiscard]] Predictions predict(const Problem& problem, std::size_t index) const {
    auto raw = detail::sized<ck_predictions>();
    detail::check(detail::CallsFor<Problem>::predict(capi(), &detail::raw(problem), index, &raw));
    Predictions predictions{detail::known(raw.tflops), std::nullopt, detail::known(raw.bandwidth_gb_s)};
    if (const auto latency = detail::known(raw.latency_ms)) predictions.latency.emplace(*latency);
    return predictions;
  }

  /// The features of the kernel at an index as the serving model sees them, in the model's order.
  template <class Problem>
  [[nodiscard]] std::vector<double> features(const Problem& problem, std::size_t index) const {
    std::vector<double> row(128);
    while (true) {
      std::size_t count = 0;
      const ck_status status =
          detail::CallsFor<Problem>::features(capi(), &detail::raw(problem), index, row.size(), row.data(), &count);
      if (status == CK_STATUS_BUFFER_TOO_SMALL && count > row.size()) {
        row.resize(count);
        continue;
      }
      detail::check(status);
      row.resize(count);
      return row;
    }
  }

  /// Which sources are asked for a problem and what each answers, as human-readable text.
  template <class Problem>
  [[nodiscard]] std::string explain(const Problem& problem) const {
    char* raw = nullptr;
    detail::check(detail::CallsFor<Problem>::explain(capi(), &detail::raw(problem), &raw));
    const std::unique_ptr<char, void (*)(char*)> text(raw, ck_string_free);
    return text.get();
  }

 private:
  [[nodiscard]] static ck_model_key raw_key(const ModelKey& key) {
    auto raw = detail::sized<ck_model_key>();
    raw.op = static_cast<std::int32_t>(key.op);
    raw.direction = key.direction ? static_cast<std::int32_t>(*key.direction) : CK_ANY;
    raw.dtype = key.dtype ? static_cast<std::int32_t>(*key.dtype) : CK_ANY;
    raw.arch = detail::optional_text(key.arch, "arch");
    return raw;
  }

  template <class Body>
  static void with(const ModelOptions& options, Body body) {
    auto raw = detail::sized<ck_model_options>();
    ck_model_key key{};
    if (options.key) {
      key = raw_key(*options.key);
      raw.key = &key;
    }
    raw.hardware = options.hardware ? &*options.hardware : nullptr;
    raw.force = options.force ? 1 : 0;
    body(raw);
  }

  [[nodiscard]] static std::vector<NewConvKernel> one(const ConvKernel& kernel, Hooks& hooks) {
    std::vector<NewConvKernel> kernels;
    kernels.push_back({kernel, std::move(hooks)});
    return kernels;
  }
  [[nodiscard]] static std::vector<NewGemmKernel> one(const GemmKernel& kernel, Hooks& hooks) {
    std::vector<NewGemmKernel> kernels;
    kernels.push_back({kernel, std::move(hooks)});
    return kernels;
  }

  [[nodiscard]] static std::vector<NewFmhaKernel> one(const FmhaKernel& kernel, Hooks& hooks) {
    std::vector<NewFmhaKernel> kernels;
    kernels.push_back({kernel, std::move(hooks)});
    return kernels;
  }

  template <class Call, class New>
  void add_described(Call call, std::vector<New> kernels) {
    std::vector<decltype(kernels.front().kernel.capi())> descs;
    std::vector<ck_kernel_hooks> hooks;
    std::list<detail::Callables> added;
    for (New& kernel : kernels) {
      descs.push_back(kernel.kernel.capi());
      hooks.push_back(raw_hooks(std::move(kernel.hooks), added));
    }
    detail::check(call(capi(), descs.data(), hooks.data(), descs.size()));
    keep_->take(added);
  }

  template <class Body>
  static void with(const Options& options, Body body) {
    const detail::CText override_file(options.override_file, "override_file");
    const detail::CText arch(options.arch, "arch");
    auto raw = detail::sized<ck_options>();
    raw.mode = static_cast<std::int32_t>(options.mode);
    raw.ignore_environment = options.ignore_environment ? 1 : 0;
    raw.store = detail::optional_text(options.store, "store");
    raw.device_name = detail::optional_text(options.device_name, "device_name");
    raw.stream = options.stream;
    raw.refine = options.refine;
    raw.refine_out_of_range = options.refine_out_of_range;
    raw.search = options.search ? 1 : 0;
    raw.repeats = options.repeats;
    // In C, 0 means the default.
    raw.warmup = options.warmup == 0 ? -1 : options.warmup;
    raw.budget_ms = options.budget.count();
    raw.cutoff = options.cutoff;
    raw.run_timeout_ms = options.run_timeout.count();
    raw.host_timing = options.host_timing ? 1 : 0;
    raw.embedded_models = options.embedded_models ? 1 : 0;
    raw.no_estimate = options.estimate ? 0 : 1;
    raw.override_file = override_file.get_optional();
    raw.arch = arch.get_optional();
    body(raw);
  }

  template <class Problem>
  ck_status call_select(const Problem& problem, Selection& selection) const noexcept {
    auto raw = detail::sized<ck_selection>();
    const ck_status status = detail::CallsFor<Problem>::select(capi(), &detail::raw(problem), &raw);
    if (status == CK_STATUS_OK) {
      selection.name = raw.name;
      selection.user = detail::Callables::user(raw.user);
      selection.index = raw.index;
      selection.rank = raw.rank;
      selection.unsupported = raw.unsupported;
      selection.score = detail::known(raw.score);
      selection.measured.reset();
      if (const auto ms = detail::known(raw.measured_ms)) selection.measured.emplace(*ms);
      selection.generation = raw.generation;
      selection.source = static_cast<Source>(raw.source);
      selection.out_of_range = raw.out_of_range != 0;
      selection.out_of_range_fields = raw.out_of_range_fields;
      selection.unmeasured = raw.unmeasured != 0;
      selection.arch_unknown = raw.arch_unknown != 0;
      selection.no_model = raw.no_model != 0;
      selection.generic = raw.generic != 0;
    }
    return status;
  }

  template <class Call>
  static std::optional<KernelInfo> info(Call call) {
    auto raw = detail::sized<ck_kernel_info>();
    const ck_status status = call(&raw);
    if (status == CK_STATUS_NOT_FOUND) return std::nullopt;
    detail::check(status);
    return KernelInfo{raw.name, detail::Callables::user(raw.user), raw.index, raw.priority};
  }

  /// Hooks for the C interface; their callables are in `added`, to be kept once the kernel is added.
  [[nodiscard]] ck_kernel_hooks raw_hooks(Hooks hooks, std::list<detail::Callables>& added) {
    const bool is_plain = !hooks.supports_conv && !hooks.supports_gemm && !hooks.supports_fmha && !hooks.run_conv &&
                          !hooks.run_gemm && !hooks.run_fmha;
    return (is_plain && keep_ ? keep_->without_callables(hooks) : added.emplace_back(std::move(hooks))).capi();
  }

  // Destroyed in reverse order: the handle first.
  std::shared_ptr<detail::Keep> keep_ = std::make_shared<detail::Keep>();
  std::unique_ptr<ck_registry, detail::DestroyRegistry> handle_;
};

}  // namespace ck_select

#endif  // CK_SELECT_HPP
