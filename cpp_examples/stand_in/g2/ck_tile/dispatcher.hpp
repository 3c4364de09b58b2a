// Stand-in for GEMM generation G2, under the name of CK's own header.
#ifndef STAND_IN_STREAM_K
#define STAND_IN_STREAM_K
#endif
#include "../../gemm.hpp"
