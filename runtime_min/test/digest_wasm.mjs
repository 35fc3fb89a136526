// SPDX-License-Identifier: 0BSD
// Prints the digests that digest.cpp gives as a wasm module: node digest_wasm.mjs MODULE
import { readFileSync } from "node:fs";

const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), {});
for (let f = 0; f <= 32; ++f) {
  const digest = BigInt.asUintN(64, instance.exports.digest_of(f, 65521));
  console.log(`${f} ${digest.toString(16).padStart(16, "0")}`);
}
