// A second part of the program that includes everything: what the headers define must not clash.

#include "ck_select_dispatcher.hpp"
#include "ck_select.hpp"
#include "ck_select_dispatcher.hpp"

ck_select::ConvProblem resnet_from_elsewhere() {
  return ck_select::ConvProblem().batch(16).channels(256, 128).input(28, 28).filter(3, 3).padding(1, 1);
}
