// SPDX-License-Identifier: Apache-2.0
// Catch2's main function, in a file of its own as it takes seconds to compile.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
