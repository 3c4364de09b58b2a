// Stand-in for generation V2: keys say more, and instances may be asked what they support.
#ifndef STAND_IN_ASKED
#define STAND_IN_ASKED
#endif
#include "../../../conv_with_buffers.hpp"
