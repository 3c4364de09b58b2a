// Stand-in for generation V1: keys without specialization, large tensors and Stream-K; instances are not
// asked what they support.
#include "../../../conv_with_buffers.hpp"
