// Stand-in for generation V1: keys without specialization, large tensors and Stream-K; nobody is asked what it
// supports.
#include "../../../conv_with_buffers.hpp"
