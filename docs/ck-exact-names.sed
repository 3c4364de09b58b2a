# Makes GroupedConvDispatcher take the kernel whose whole name a heuristic answers, not the first one whose name contains it.
#
#     sed -i -f ck-exact-names.sed …/ck_tile/dispatcher/grouped_conv_registry.hpp
s/->name()\.find(\([A-Za-z_]*\)) != std::string::npos/->name() == \1/
