/* ck_select for C++17: the C interface with RAII, values and exceptions. Header-only.
 *
 *     #include <iostream>
 *     #include "ck_select.hpp"
 *
 *     int main() {
 *       ck_select::Registry registry;
 *       registry.add("grouped_conv_forward_bf16_2d_64x64x64_compv3");
 *       registry.add("grouped_conv_forward_bf16_2d_128x128x64_compv5");
 *       registry.load_model("embedded:grouped_conv_forward_bf16_gfx950");
 *       const auto problem =
 *           ck_select::ConvProblem().batch(16).channels(256, 128).input(28, 28).filter(3, 3).padding(1, 1).arch("gfx950");
 *       std::cout << registry.select(problem).name << '\n';
 *     }
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

#include "ck_select/error.hpp"
#include "ck_select/hooks.hpp"
#include "ck_select/kernel.hpp"
#include "ck_select/options.hpp"
#include "ck_select/problem.hpp"
#include "ck_select/registry.hpp"
#include "ck_select/selection.hpp"
#include "ck_select/words.hpp"

#endif  // CK_SELECT_HPP
