// SPDX-License-Identifier: 0BSD
//
// A bundle written by hand as an emitted one would be: y[batch,4] = softmax(x[batch,4] * scale[4]),
// where batch is 1 to 64; the scale is the weights, and the product lives in the arena.
#ifndef ORTC_TEST_BUNDLE_H
#define ORTC_TEST_BUNDLE_H

#include "ortc/ortc.h"

const ortc_model* net_model();
/// The same model with a step that the host decides by a value of the run.
const ortc_model* net_deciding_model();

#endif
