#!/bin/bash
# SPDX-License-Identifier: 0BSD
#
# Builds a bundle into a test program for a board, and runs it on inputs under qemu.
#
#   firmware.sh boards
#   firmware.sh build --board=B --model=NAME_model -o DIR [--flash=BYTES] [--ram=BYTES] [--stack=BYTES] [--io=BYTES]
#                     [--cflags=...] [-I DIR]... SOURCE...
#   firmware.sh run   --board=B DIR/case.elf CASE [--timeout=SECONDS]
#
# build writes DIR/case.elf and DIR/size.json: bytes of flash (code, constants, image of .data) and of RAM (stack, .data,
# .bss) of the bundle alone, and the largest stack frames as the compiler reports them. A bundle that does not fit into
# --flash or --ram is refused by the linker. Sizes may end in K or M. --io is the memory for inputs and outputs.
# run reads CASE/request.txt and CASE/input_I.bin and writes CASE/response.txt and CASE/output_J.bin: see case_main.c.
# Exit: 0; 1 the bundle does not compile, fit or run; 2 usage; 3 a compiler or an emulator is missing.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

usage() { sed -n '4,17s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
die() { echo "firmware: error: $2" >&2; exit "$1"; }
need() { command -v "$1" >/dev/null || die 3 "there is no $1"; }

bytes() {
  case "$1" in
  *K | *KiB) echo $((${1%%K*} * 1024)) ;;
  *M | *MiB) echo $((${1%%M*} * 1024 * 1024)) ;;
  *) echo $(($1)) ;;
  esac
}

# What a board is: processor flags, qemu's machine, and where its memories begin and how large they are. TEST holds
# start-up and semihosting; IO, on all but the smallest board, is a memory that the bundle does not see.
board() {
  prefix=arm-none-eabi- start="$here/../../cortex_m/host/start.c" emulator=qemu-system-arm
  test_origin=0x00000000 test_bytes=$((16 << 10)) case_flags=""
  case "$1" in
  cortex-m0) # BBC micro:bit: nRF51822, 256 KiB flash, 16 KiB RAM, of which 4 for inputs and outputs
    machine=microbit cpu="-mcpu=cortex-m0 -mthumb -mfloat-abi=soft"
    code_origin=0x00004000 code_max=$((240 << 10)) ram_origin=0x20000000 ram_max=$((12 << 10))
    io_origin=0x20003000 io_max=$((4 << 10)) case_flags=-DORTC_SMALL_CASE ;;
  cortex-m4) # Arm MPS2 AN386: 4 MiB each
    machine=mps2-an386 cpu="-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
    code_origin=0x00004000 code_max=$((4080 << 10)) ram_origin=0x20000000 ram_max=$((4 << 20))
    io_origin=0x21000000 io_max=$((16 << 20)) ;;
  cortex-m55) # Arm MPS3 AN547: start-up in ITCM, code in SRAM, data in DTCM, inputs and outputs in DDR
    machine=mps3-an547 cpu="-mcpu=cortex-m55 -mthumb -mfloat-abi=hard"
    code_origin=0x01000000 code_max=$((2 << 20)) ram_origin=0x20000000 ram_max=$((512 << 10))
    io_origin=0x60000000 io_max=$((64 << 20)) ;;
  rv32) # qemu's virt machine: one memory, cut into four
    prefix=riscv64-unknown-elf- start="$here/../../riscv/host/start.c" emulator=qemu-system-riscv32
    machine=virt cpu="-march=rv32imac -mabi=ilp32 -mcmodel=medany -mno-relax"
    test_origin=0x80000000
    code_origin=0x80004000 code_max=$((32752 << 10)) ram_origin=0x82000000 ram_max=$((32 << 20))
    io_origin=0x84000000 io_max=$((32 << 20)) ;;
  *) die 2 "there is no board '$1'; there are: cortex-m0 cortex-m4 cortex-m55 rv32" ;;
  esac
}

command="${1:-}"
[ $# -gt 0 ] && shift
board="" model="" out="" flash="" ram="" stack=4096 io=4096 cflags="" timeout=120
includes=() rest=()
while [ $# -gt 0 ]; do
  case "$1" in
  --board=*) board="${1#*=}" ;;
  --model=*) model="${1#*=}" ;;
  --flash=*) flash="$(bytes "${1#*=}")" ;;
  --ram=*) ram="$(bytes "${1#*=}")" ;;
  --stack=*) stack="$(bytes "${1#*=}")" ;;
  --io=*) io="$(bytes "${1#*=}")" ;;
  --cflags=*) cflags="${1#*=}" ;;
  --timeout=*) timeout="${1#*=}" ;;
  -o) out="${2:-}"; shift ;;
  -I) includes+=(-I "${2:-}"); shift ;;
  -I*) includes+=("$1") ;;
  -*) die 2 "unknown option '$1'" ;;
  *) rest+=("$1") ;;
  esac
  shift
done

build() {
  [ -n "$board" ] && [ -n "$model" ] && [ -n "$out" ] && [ ${#rest[@]} -gt 0 ] || usage
  board "$board"
  need "${prefix}gcc"
  need "${prefix}g++"
  flash="${flash:-$code_max}" ram="${ram:-$ram_max}"
  [ "$flash" -le "$code_max" ] || die 2 "$board has $code_max bytes of flash for a bundle, not $flash"
  [ "$ram" -le "$ram_max" ] || die 2 "$board has $ram_max bytes of RAM for a bundle, not $ram"
  [ "$io" -le "$io_max" ] || die 1 "$board has $io_max bytes for inputs and outputs, not $io"
  mkdir -p "$out/obj"
  rm -f "$out"/obj/* "$out/case.elf" "$out/size.json"
  sed -e "s/@TEST_ORIGIN@/$test_origin/;s/@TEST_BYTES@/$test_bytes/" \
    -e "s/@CODE_ORIGIN@/$code_origin/;s/@FLASH_BYTES@/$flash/" \
    -e "s/@RAM_ORIGIN@/$ram_origin/;s/@RAM_BYTES@/$ram/;s/@STACK_BYTES@/$stack/" \
    -e "s/@IO_ORIGIN@/$io_origin/;s/@IO_BYTES@/$io_max/" "$here/firmware.ld.in" >"$out/firmware.ld"

  local flags=($cpu -O2 -g -ffreestanding -fno-exceptions -ffunction-sections -fdata-sections -ffp-contract=off
    -fstack-usage -Wall -Wextra)
  local cxx=(-std=c++17 -fno-rtti -fno-threadsafe-statics -fno-use-cxa-atexit)
  local objects=() source object n=0
  # The test's own files keep their names: the linker script knows them by these. -Os: they are small, not fast.
  for source in "$start" "$here/firmware.c" "$here/case_main.c" "$here/memory.c"; do
    object="$out/obj/$(basename "$source" .c).o"
    # A loop of memcpy must not become a call of memcpy.
    "${prefix}gcc" "${flags[@]}" -Os -std=c11 -fno-tree-loop-distribute-patterns -DORTC_MODEL="$model" \
      -DORTC_IO_BYTES="$io" $case_flags "${includes[@]}" -I "$here" -c "$source" -o "$object" || exit 1
    objects+=("$object")
  done
  rm -f "$out"/obj/*.su # of the bundle only
  for source in "${rest[@]}"; do
    n=$((n + 1))
    object="$out/obj/$n.$(basename "$source").bundle.o"
    case "$source" in
    *.c | *.S | *.s) "${prefix}gcc" "${flags[@]}" -std=c11 $cflags "${includes[@]}" -c "$source" -o "$object" || exit 1 ;;
    *) "${prefix}g++" "${flags[@]}" "${cxx[@]}" $cflags "${includes[@]}" -c "$source" -o "$object" || exit 1 ;;
    esac
    objects+=("$object")
  done
  # libgcc has what the processor lacks (division, soft floats); there is no other library.
  "${prefix}g++" $cpu -nostdlib -nostartfiles -Wl,--gc-sections -Wl,--no-warn-rwx-segments -Wl,-Map="$out/case.map" \
    -T "$out/firmware.ld" "${objects[@]}" -lgcc -o "$out/case.elf" || exit 1
  "${prefix}size" -A "$out/case.elf" | awk -v stack="$stack" -v flash="$flash" -v ram="$ram" -v board="$board" '
    { size[$1] = $2 }
    END {
      data = size[".data"] + 0; bss = size[".bss"] + 0
      code = size[".text"] + 0; constants = size[".rodata"] + size[".ARM.extab"] + size[".ARM.exidx"] + size[".init_array"]
      printf "{\"board\": \"%s\", \"flash\": %d, \"flash_limit\": %d, \"ram\": %d, \"ram_limit\": %d, ", board,
        code + constants + data, flash, data + bss + stack, ram
      printf "\"code\": %d, \"constants\": %d, \"data\": %d, \"bss\": %d, \"stack\": %d, \"test\": %d, ", code, constants, data, bss,
        stack, size[".test"] + size[".vectors"]
    }' >"$out/size.json"
  # NAME<tab>BYTES<tab>static; the names are C++ signatures of ours, without quotes. Not `head`: a reader that leaves early
  # ends sort by a signal, and with that, now and then, the script.
  cat "$out"/obj/*.su | sort -t"$(printf '\t')" -k2,2nr | awk -F'\t' '
    BEGIN { printf "\"frames\": [" }
    NR <= 5 { name = $1; sub(/^.*:[0-9]+:[0-9]+:/, "", name); gsub(/["\\]/, "", name)
      printf "%s{\"function\": \"%s\", \"bytes\": %d}", (NR > 1 ? ", " : ""), name, $2 }
    END { print "]}" }' >>"$out/size.json"
}

run() {
  [ -n "$board" ] && [ ${#rest[@]} = 2 ] || usage
  board "$board"
  need $emulator
  local elf status=0 bios=()
  elf="$(cd "$(dirname "${rest[0]}")" && pwd)/$(basename "${rest[0]}")"
  cd "${rest[1]}" || exit 2
  rm -f response.txt
  [ $emulator = qemu-system-riscv32 ] && bios=(-bios none)
  timeout "$timeout" $emulator -M $machine "${bios[@]}" -kernel "$elf" -nographic -monitor none -serial none \
    -semihosting-config enable=on,target=native </dev/null || status=$?
  case $status in
  0) [ -f response.txt ] || die 1 "the program ended without a response" ;;
  124) die 1 "no end within $timeout s" ;;
  *) die 1 "the program ended with code $status" ;;
  esac
}

case "$command" in
boards) printf 'cortex-m0\ncortex-m4\ncortex-m55\nrv32\n' ;;
build) build ;;
run) run ;;
*) usage ;;
esac
