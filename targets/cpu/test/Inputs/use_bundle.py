# SPDX-License-Identifier: Apache-2.0
"""Writes the CMake project of a user: use_bundle.py CMakeLists.txt NAME makes a program of main.cpp and the bundle NAME."""
import sys

with open(sys.argv[1], "w") as f:
    f.write(f"""cmake_minimum_required(VERSION 3.16)
project(use LANGUAGES CXX)
add_subdirectory({sys.argv[2]})
add_executable(main main.cpp)
target_link_libraries(main PRIVATE {sys.argv[2]}::{sys.argv[2]})
""")
