/* Which members CK's classes have. Its generations have no numbers: they are told apart by what is there, each member
 * in one place here. What a generation lacks gets the value that its kernels have all the same.
 */

#ifndef CK_SELECT_DISPATCHER_MEMBERS_HPP
#define CK_SELECT_DISPATCHER_MEMBERS_HPP

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

namespace ck_select {

/// The generations of CK's headers, as docs/adopting.md names them: of convolutions, GEMMs (g0 has no pads in its keys)
/// and attention.
enum class Generation { unknown, v1, v2, v3, g0, g1, g2, f1 };

}  // namespace ck_select

namespace ck_select::detail {

/// Whether an expression over types is valid: `Is<Expression, Type...>`.
template <template <class...> class Expression, class Enabled, class... Types>
struct IsValid : std::false_type {};
template <template <class...> class Expression, class... Types>
struct IsValid<Expression, std::void_t<Expression<Types...>>, Types...> : std::true_type {};
template <template <class...> class Expression, class... Types>
inline constexpr bool is_valid = IsValid<Expression, void, Types...>::value;

/// An object of a type, for unevaluated expressions.
template <class Type>
const Type& a() noexcept;

template <class T> using PaddingLeft = decltype(a<T>().padding_left);
template <class T> using DtypeIn = decltype(a<T>().dtype_in);
template <class T> using LayoutText = decltype(a<T>().layout);
template <class T> using Arch = decltype(a<T>().arch);
template <class T> using Ndim = decltype(a<T>().ndim_spatial);
template <class T> using SpecializationText = decltype(a<T>().specialization);
template <class T> using LargeTensor = decltype(a<T>().large_tensor);
template <class T> using StreamkEnabled = decltype(a<T>().streamk_enabled);
template <class T> using DoubleSmemBuffer = decltype(a<T>().double_smem_buffer);
template <class T> using TwoStage = decltype(a<T>().two_stage);
template <class T> using ExplicitGemm = decltype(a<T>().explicit_gemm);
template <class T> using Executable = decltype(a<T>().executable());
template <class T> using KernelId = decltype(a<T>().kernel_id());
template <class T> using SplitK = decltype(a<T>().split_k);
template <class T> using PadM = decltype(a<T>().pad_m);
template <class T> using VectorSizeA = decltype(a<T>().vector_size_a);
template <class T> using Streamk = decltype(a<T>().streamk);
template <class T> using AllInstances = decltype(a<T>().get_all_instances());
template <class T> using ToText = decltype(std::string(to_string(a<T>())));
template <class T> using ProblemText = decltype(std::string(a<T>().to_string()));
template <class I, class P> using IsSupported = decltype(a<I>().is_supported(a<P>()));
template <class I, class P> using Matches = decltype(a<I>().matches(a<P>()));
template <class I, class P> using Run = decltype(a<I>().run(a<P>(), static_cast<void*>(nullptr)));
template <class R, class P> using Find = decltype(a<R>().find(a<P>()));
template <class I, class P>
using GemmRun = decltype(a<I>().run(static_cast<const void*>(nullptr), static_cast<const void*>(nullptr),
                                    static_cast<void*>(nullptr), static_cast<const void**>(nullptr), a<P>(),
                                    static_cast<void*>(nullptr)));
template <class I, class P>
using GemmRunWithWorkspace = decltype(a<I>().run(static_cast<const void*>(nullptr), static_cast<const void*>(nullptr),
                                                 static_cast<void*>(nullptr), static_cast<const void**>(nullptr),
                                                 static_cast<void*>(nullptr), a<P>(), static_cast<void*>(nullptr)));

// Members of convolution keys that not all generations have.

template <class Key>
[[nodiscard]] std::string specialization_of(const Key& key) {
  if constexpr (is_valid<SpecializationText, Key>) return key.specialization;
  else return "default";
}

template <class Key>
[[nodiscard]] bool splits_image(const Key& key) noexcept {
  if constexpr (is_valid<LargeTensor, Key>) return key.large_tensor;
  else return false;
}

/// How a stream-K kernel reduces; empty if it is not one.
template <class Key>
[[nodiscard]] std::string stream_k_of(const Key& key) {
  if constexpr (is_valid<StreamkEnabled, Key>) return key.streamk_enabled ? key.streamk_reduction : std::string();
  else return {};
}

template <class Key>
[[nodiscard]] bool stream_k_persists(const Key& key) noexcept {
  if constexpr (is_valid<StreamkEnabled, Key>) return key.streamk_enabled && key.streamk_persistent;
  else return false;
}

/// Whether a name has a part, between underscores.
[[nodiscard]] inline bool has_part(const std::string& name, const std::string& part) noexcept {
  for (std::size_t at = name.find(part); at != std::string::npos; at = name.find(part, at + 1)) {
    const std::size_t end = at + part.size();
    if (at > 0 && name[at - 1] == '_' && (end == name.size() || name[end] == '_')) return true;
  }
  return false;
}

// Three properties that only the keys of forks have; elsewhere only the name contains them.

template <class Key>
[[nodiscard]] bool has_two_buffers(const Key& key, const std::string& name) noexcept {
  if constexpr (is_valid<DoubleSmemBuffer, Key>) return key.double_smem_buffer;
  else return has_part(name, "dsb");
}

template <class Key>
[[nodiscard]] bool has_two_stages(const Key& key, const std::string& name) noexcept {
  if constexpr (is_valid<TwoStage, Key>) return key.two_stage;
  else return has_part(name, "2stage");
}

template <class Key>
[[nodiscard]] bool is_explicit_gemm(const Key& key, const std::string& name) noexcept {
  if constexpr (is_valid<ExplicitGemm, Key>) return key.explicit_gemm;
  else return has_part(name, "explicit_gemm");
}

// What instances provide.

/// Whether an instance says that it is for a problem. The first generations compare only the operation; the adapter's
/// own comparison of types, layout and dimensions completes that.
template <class Instance, class Problem>
[[nodiscard]] bool matches(const Instance& instance, const Problem& problem) {
  if constexpr (is_valid<Matches, Instance, Problem>) return instance.matches(problem);
  else return true;
}

template <class Instance, class Problem>
[[nodiscard]] bool is_supported(const Instance& instance, const Problem& problem) {
  if constexpr (is_valid<IsSupported, Instance, Problem>) return instance.is_supported(problem);
  else return true;
}

template <class Instance>
[[nodiscard]] bool is_executable(const Instance& instance) {
  if constexpr (is_valid<Executable, Instance>) return instance.executable();
  else return true;
}

/// The word of an enumerator of GEMM keys: CK's own to_string beside the enum or, where a generation has none, by the
/// enumerators.
template <class Enum>
[[nodiscard]] std::string word_of(Enum value);

#define CK_SELECT_WORDS(EACH)                                                                       \
  EACH(FP16, "fp16") EACH(BF16, "bf16") EACH(FP32, "fp32") EACH(FP64, "fp64") EACH(FP8, "fp8")      \
  EACH(BF8, "bf8") EACH(INT8, "int8") EACH(INT4, "int4") EACH(INT32, "int32") EACH(RowMajor, "r")   \
  EACH(ColMajor, "c") EACH(PackedExternal, "p") EACH(Mem, "mem") EACH(CompV1, "compv1")             \
  EACH(CompV2, "compv2") EACH(CompV3, "compv3") EACH(CompV4, "compv4") EACH(CompV5, "compv5")       \
  EACH(CompV6, "compv6") EACH(PreShuffleV1, "preshufflev1") EACH(PreShuffleV2, "preshufflev2")      \
  EACH(Wavelet, "wavelet") EACH(Default, "default") EACH(CShuffle, "cshuffle") EACH(Bias, "bias")   \
  EACH(Activation, "activation") EACH(None, "none") EACH(Auto, "auto") EACH(Intrawave, "intrawave") \
  EACH(Interwave, "interwave")
#define CK_SELECT_ENUMERATOR(name, word)                                             \
  template <class T> using Enumerator##name = decltype(T::name);                     \
  template <class Enum>                                                              \
  [[nodiscard]] bool is_##name(Enum value, std::string& found) {                     \
    if constexpr (is_valid<Enumerator##name, Enum>) {                                \
      if (value == Enum::name) found = word;                                         \
    }                                                                                \
    return !found.empty();                                                           \
  }
CK_SELECT_WORDS(CK_SELECT_ENUMERATOR)
#undef CK_SELECT_ENUMERATOR

template <class Enum>
[[nodiscard]] std::string word_of(Enum value) {
  if constexpr (is_valid<ToText, Enum>) {
    return to_string(value);
  } else {
    std::string word;
#define CK_SELECT_IS(name, _) is_##name(value, word) ||
    (void)(CK_SELECT_WORDS(CK_SELECT_IS) false);
#undef CK_SELECT_IS
#undef CK_SELECT_WORDS
    return word.empty() ? "unknown" : word;
  }
}

/// Stands for any argument, for calls that are never made.
struct AnyArgument {
  template <class T>
  operator const T&() const;  // NOLINT: a conversion is the point
};

template <class Key> using NameInKey = decltype(a<Key>().name);
template <class I> using ConvKey = std::enable_if_t<is_valid<DtypeIn, decltype(a<I>().key())>>;
template <class I> using GemmKey = decltype(a<I>().get_key().signature.layout_a);
template <class I> using GemmAlgorithm = std::decay_t<decltype(a<I>().get_key().algorithm)>;
template <class I> using FmhaKey = decltype(a<I>().get_key().signature.hdim_q);
template <class I> using AsksItself = decltype(a<I>().is_supported(AnyArgument{}));

template <class Instance>
[[nodiscard]] constexpr Generation generation_of() noexcept {
  if constexpr (is_valid<ConvKey, Instance>) {
    constexpr bool named = is_valid<NameInKey, std::decay_t<decltype(a<Instance>().key())>>;
    constexpr bool asks = is_valid<AsksItself, Instance>;
    if (is_valid<Executable, Instance> != named || is_valid<KernelId, Instance> != named) return Generation::unknown;
    if (named) return asks ? Generation::v3 : Generation::unknown;
    return asks ? Generation::v2 : Generation::v1;
  } else if constexpr (is_valid<GemmKey, Instance>) {
    constexpr bool pads = is_valid<PadM, GemmAlgorithm<Instance>>;
    constexpr bool stream_k = is_valid<Streamk, GemmAlgorithm<Instance>>;
    if (stream_k) return pads ? Generation::g2 : Generation::unknown;
    return pads ? Generation::g1 : Generation::g0;
  } else {
    return is_valid<FmhaKey, Instance> ? Generation::f1 : Generation::unknown;
  }
}

}  // namespace ck_select::detail

#endif  // CK_SELECT_DISPATCHER_MEMBERS_HPP
