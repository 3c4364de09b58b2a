// The name of CK's own umbrella of convolutions.
#include "dispatcher/grouped_conv_registry.hpp"
