// Stand-in for GEMM generation G1, under the name of CK's own header.
#include "../../gemm.hpp"
