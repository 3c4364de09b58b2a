// What the README's program takes from CK, as stand-ins: the names of CK's own header.

#ifndef CK_TILE_DISPATCHER_HPP
#define CK_TILE_DISPATCHER_HPP

#include "stand_in.hpp"

namespace ck_tile::dispatcher {

using GroupedConvProblem = stand_in::NewConvProblem;
using GroupedConvKernelInstance = stand_in::GroupedConv<GroupedConvProblem>::KernelInstance;
using GroupedConvDispatcher = stand_in::GroupedConv<GroupedConvProblem>::Dispatcher;

class GroupedConvRegistry : public stand_in::GroupedConv<GroupedConvProblem>::Registry {
 public:
  static GroupedConvRegistry& instance() {
    static GroupedConvRegistry registry;
    return registry;
  }
};

}  // namespace ck_tile::dispatcher

#endif  // CK_TILE_DISPATCHER_HPP
