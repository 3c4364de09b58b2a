// Stand-in for attention, under the name of CK's own header.
#include "../../fmha.hpp"
