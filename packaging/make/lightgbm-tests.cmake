# A LightGBM to compare bits with, not to time: half the compile time of its own flags. Files are joined and optimised a little, and its
# command line is left out. Without fused multiplication (see GCC's -ffp-contract) the level of optimisation changes no bit.
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG" CACHE STRING "")
set(CMAKE_UNITY_BUILD ON)
set(BUILD_CLI OFF CACHE BOOL "")
