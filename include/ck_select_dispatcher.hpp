/* ck_select for CK's dispatcher: chooses among the kernels of a GroupedConvRegistry, a GEMM Registry or an
 * FmhaRegistry, and runs those of the first two.
 *
 *     ck_select::SelectorOptions options;
 *     options.models = {"models/conv"};
 *     ck_select::GroupedConvRunner dispatcher(&registry, options);     // in place of GroupedConvDispatcher
 *     dispatcher.run(input, weight, output, problem);
 *
 *     ck_select::GroupedConvSelector selector(registry, options);      // or only to choose
 *     const auto* kernel = selector.get_solution(problem);             // null if no kernel can run it
 *     ck_select::run(selector, problem, {input, weight, output}, stream, device);
 *
 * Templates over CK's classes, whose generations are distinguished by their members: all of them compile from this one
 * header (docs/adopting.md names them). Of CK only grouped_conv_registry.hpp is included, and only if the compiler
 * finds it as <ck_tile/dispatcher/grouped_conv_registry.hpp>; from elsewhere, include it before this header.
 *
 * What it guarantees
 *   - A kernel is chosen only if its key has the problem's operation, types, layout, dimensions and architecture,
 *     compared exactly, if its own matches() agrees, and its is_supported (GEMM: supports) accepts that same problem
 *     object. One that throws counts as no.
 *   - get_solution returns an instance, not a name, and run and GroupedConvRunner run that instance, so no name can be
 *     mistaken for another.
 *   - Kernels that cannot be expressed to the library are never chosen, and are listed by skipped().
 *   - Changes of the registry are followed, see Follow.
 *   - A heuristic never throws.
 *
 * Threads: any number may call get_solution, find, run, explain and heuristics at once, also while others change the
 * registry. The CK registry must outlive the selector, its heuristics and runners.
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
