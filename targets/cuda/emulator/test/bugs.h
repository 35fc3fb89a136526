// SPDX-License-Identifier: 0BSD
//
// The bugs that the test kernels can have, by name.
#ifndef ORTC_TEST_BUGS_H
#define ORTC_TEST_BUGS_H

enum class Bug {
  None,
  NoBarrierBeforeRead,
  NoBarrierBeforeOverwrite,
  GlobalOverrun,
  SharedOverrun,
  SharedUnwritten,
  PlainSumOfBlocks,
  BarrierForSome,
  TwoBarriersOnOneLine,
  BarrierAndShuffle,
  NoWarpBarrier,
  LaneNotThere,
  Misaligned
};

#endif
