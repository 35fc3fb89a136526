#!/bin/sh
# SPDX-License-Identifier: 0BSD
# Checks that the functions give the same bits on other machines and with other compilers: all with fma agree, all
# without fma agree. What is not installed or cannot run here is skipped, and said.
#   portable.sh [FOLDER FOR BUILDS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$(mktemp -d)}
mkdir -p "$build"
failed=0
flags="-std=c++17 -O2 -ffp-contract=off -fno-math-errno -Wno-psabi -I$here/.. -DORTC_DIGEST_MAIN"

have() { command -v "$1" > /dev/null 2>&1; }
skip() { echo "skipped  $1: $2"; }

# compare NAME KIND FILE: the first of each kind (fma, plain) is what the others are compared with
compare() {
  if [ ! -s "$build/$2.expected" ]; then
    cp "$3" "$build/$2.expected"
    echo "digests  $1"
  elif cmp -s "$build/$2.expected" "$3" && [ "$(wc -l < "$3")" -eq 33 ]; then
    echo "equal    $1"
  else
    echo "DIFFERS  $1, functions: $(diff "$build/$2.expected" "$3" | sed -n 's/^> \([0-9]*\) .*/\1/p' | tr '\n' ' ')"
    failed=1
  fi
}

native() { # compiler, level, kind
  if ! have "$1"; then skip "$1 $2" "no compiler"; return; fi
  "$1" $flags "-march=$2" $4 "$here/digest.cpp" -o "$build/digest"
  if "$build/digest" > "$build/out" 2> /dev/null; then
    compare "$1 $2 $4" "$3" "$build/out"
  else
    skip "$1 $2" "this processor cannot run it"
  fi
}

wasm() { # flags
  if ! have clang++-19 || ! have wasm-ld-19 || ! have node; then skip "wasm" "no clang++-19, wasm-ld-19 or node"; return; fi
  clang++-19 --target=wasm32-unknown-unknown $1 -mbulk-memory -std=c++17 -O2 -ffreestanding -nostdlib \
    -fno-exceptions -fno-rtti -I"$here/.." -c "$here/digest.cpp" -o "$build/digest.o"
  wasm-ld-19 --no-entry "$build/digest.o" -o "$build/digest.wasm"
  node "$here/digest_wasm.mjs" "$build/digest.wasm" > "$build/out"
  compare "wasm $1" plain "$build/out"
}

arm() { # machine of qemu, kind, flags
  if ! have arm-none-eabi-g++ || ! have qemu-system-arm; then skip "$1" "no arm-none-eabi-g++ or qemu-system-arm"; return; fi
  arm-none-eabi-gcc $3 -mthumb -O2 -c "$here/arm_start.c" -o "$build/start.o"
  arm-none-eabi-g++ $3 -mthumb $flags -fno-exceptions -fno-rtti --specs=rdimon.specs "$here/digest.cpp" \
    "$build/start.o" -T "$here/arm.ld" -o "$build/digest.elf" 2> "$build/log" || { cat "$build/log"; exit 1; }
  timeout 120 qemu-system-arm -M "$1" -kernel "$build/digest.elf" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native > "$build/out" 2>&1 || true
  compare "$3" "$2" "$build/out"
}

rm -f "$build"/*.expected
for compiler in g++ clang++-19; do
  native $compiler x86-64 plain ""
  native $compiler x86-64 plain "-O3 -ffp-contract=fast"
  native $compiler x86-64-v2 plain ""
  native $compiler x86-64-v3 fma ""
  native $compiler x86-64-v4 fma ""
  native $compiler x86-64-v4 fma "-O3 -ffp-contract=fast"
  native $compiler x86-64-v3 fma "-O1 -DORTC_VEC_BYTES=0 -DORTC_RT_NO_BUILTINS"
done
wasm ""
wasm "-msimd128"
arm mps2-an385 plain "-mcpu=cortex-m3"
arm mps2-an386 fma "-mcpu=cortex-m4 -mfloat-abi=hard -mfpu=fpv4-sp-d16"
arm mps2-an500 fma "-mcpu=cortex-m7 -mfloat-abi=hard -mfpu=fpv5-d16"
exit $failed
