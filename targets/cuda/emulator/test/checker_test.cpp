// SPDX-License-Identifier: 0BSD
//
// Planted bugs: the checker has to report each of them, with the kind of fault and the place. Needs
// instrumented kernels; the few that the plain build finds too say so.
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include "cuemu.h"
#include "programs.h"

namespace {

const std::vector<float> ones(4096, 1.0f);

/// Runs under all schedules; each has to report a fault of this kind whose text holds `detail`.
template <class Run> void requireReport(const char* kind, const char* detail, Run run) {
  for (const cuemu::Schedule schedule :
       {cuemu::Schedule::Forward, cuemu::Schedule::Reverse, cuemu::Schedule::Random}) {
    cuemu::options().schedule = schedule;
    cuemu::clearReports();
    run();
    bool found = false;
    for (const std::string& text : cuemu::reports()) {
      UNSCOPED_INFO(text);
      found = found || (text.compare(0, std::string(kind).size(), kind) == 0 &&
                        text.find(detail) != std::string::npos);
    }
    REQUIRE(found);
    REQUIRE(cudaGetLastError() ==
            cudaErrorLaunchFailure); // so a program under test fails by itself
  }
  cuemu::clearReports();
}

std::vector<float> gemm(Bug bug) {
  return runGemm(bug, std::vector<float>(64 * 64, 1), std::vector<float>(64 * 64, 1), 64, 64, 64);
}

} // namespace

TEST_CASE("checking is switched on by linking instrumented kernels") {
  REQUIRE(cuemu::options().check);
}

TEST_CASE("missing barriers are races") {
  requireReport("RACE", "kernels.cuh:", [] { gemm(Bug::NoBarrierBeforeRead); });
  requireReport("RACE", "write after read", [] { gemm(Bug::NoBarrierBeforeOverwrite); });
  requireReport("RACE",
                "kernels.cuh:", [] { runSwap(Bug::NoWarpBarrier, std::vector<float>(64, 1)); });
  requireReport("RACE", "kernels.cuh:", [] {
    runReverseBytes(Bug::NoBarrierBeforeRead, std::vector<uint8_t>(128, 1));
  });
}

TEST_CASE("blocks that update one value without atomics race") {
  requireReport("RACE(blocks)", "kernels.cuh:", [] { runSum(Bug::PlainSumOfBlocks, ones, 4); });
}

TEST_CASE("accesses out of bounds") {
  requireReport("OOB", "global memory", [] { gemm(Bug::GlobalOverrun); });
  requireReport("OOB", "shared array 'tileA' of 4352 bytes", [] { gemm(Bug::SharedOverrun); });
  requireReport("OOB", "freed", [] { runSumOfFreed(ones); });
  requireReport("OOB", "buffer 'first' of 2048 bytes", [] { runSumInArena(false, true); });
}

TEST_CASE("values that were never written") {
  requireReport("UNINIT", "shared memory", [] { runSum(Bug::SharedUnwritten, ones, 1); });
  requireReport("UNINIT", "global memory", [] { runSumOfUnwritten(300); });
  requireReport("UNINIT", "global memory", [] { runSumInArena(true, false); });
}

TEST_CASE("barriers that not all threads reach alike") {
  requireReport("SYNC", "divergent barrier", [] { runSum(Bug::TwoBarriersOnOneLine, ones, 1); });
  requireReport("SYNC", "exited", [] { runSum(Bug::BarrierForSome, ones, 1); });
  requireReport("DEADLOCK", "no thread of the block can go on",
                [] { runSum(Bug::BarrierAndShuffle, ones, 1); });
  requireReport("SYNC", "takes no part in the shuffle",
                [] { runSwap(Bug::LaneNotThere, std::vector<float>(64, 1)); });
}

TEST_CASE("a launch after a deadlock works") {
  cuemu::clearReports();
  runSum(Bug::BarrierAndShuffle, ones, 1);
  cuemu::clearReports();
  REQUIRE(runSum(Bug::None, ones, 2) == 4096.0f);
  REQUIRE(cuemu::reports().empty());
}

TEST_CASE("pointers of the other side") {
  requireReport("WILD", "a host pointer?", [] { runSumOfHostPointer(ones); });
  requireReport("HOSTACCESS", "programs.cu:", [] { readDevicePointerOnHost(); });
}

TEST_CASE("vector accesses at an address that is no multiple of their size") {
  requireReport("MISALIGNED", "4 bytes", [] {
    runSquareBiasHalf(Bug::Misaligned, std::vector<float>(64, 1), std::vector<float>(64, 1));
  });
}

int main(int argc, char** argv) {
  cuemu::options().printReports = false;
  return Catch::Session().run(argc, argv);
}
