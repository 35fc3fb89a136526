// SPDX-License-Identifier: 0BSD
// The main function of the Catch2 programs, compiled once.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
