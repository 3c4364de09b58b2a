/* ck_select for CK's dispatcher: chooses among the kernels of a GroupedConvRegistry, a GEMM Registry or an FmhaRegistry,
 * and runs those of the first two.
 *
 *     ck_select::SelectorOptions options;
 *     options.models = {"models/conv"};
 *     ck_select::GroupedConvRunner dispatcher(&registry, options);     // in place of GroupedConvDispatcher
 *     dispatcher.run(input, weight, output, problem);
 *
 *     ck_select::GroupedConvSelector selector(registry, options);      // or to choose alone
 *     const auto* kernel = selector.get_solution(problem);             // null when no kernel can run it
 *     ck_select::run(selector, problem, {input, weight, output}, stream, device);
 *
 * Templates over CK's classes, whose generations are told apart by their members: all of them compile from this one header
 * (docs/adopting.md names them). Of CK only grouped_conv_registry.hpp is included, and only when the compiler finds it as
 * <ck_tile/dispatcher/grouped_conv_registry.hpp>; from elsewhere, include it before this header.
 *
 * What it guarantees
 *   - A kernel is chosen only when its key has the problem's operation, types, layout, dimensions and architecture, letter by letter,
 *     when its own matches() says so, too, and its is_supported (GEMM: supports) says yes to the very problem object. One that throws has said no.
 *   - get_solution answers an instance, not a name, and run and GroupedConvRunner run that instance, so that no name can be taken for another.
 *   - Kernels that cannot be expressed to the library are never chosen, and are listed by skipped().
 *   - Changes of the registry are followed, see Follow.
 *   - A heuristic never throws.
 *
 * Threads: any number may call get_solution, find, run, explain and heuristics at once, also while others change the registry.
 * The CK registry must outlive the selector, its heuristics and runners.
 */

#ifndef CK_SELECT_DISPATCHER_HPP
#define CK_SELECT_DISPATCHER_HPP

#include "ck_select_dispatcher/conv.hpp"
#include "ck_select_dispatcher/core.hpp"
#include "ck_select_dispatcher/fmha.hpp"
#include "ck_select_dispatcher/gemm.hpp"
#include "ck_select_dispatcher/options.hpp"
#include "ck_select_dispatcher/runner.hpp"
#include "ck_select_dispatcher/selector.hpp"

#endif  // CK_SELECT_DISPATCHER_HPP
