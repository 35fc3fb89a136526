// SPDX-License-Identifier: 0BSD
// All elementary functions.
#ifndef ORTC_RT_ELEMENTARY_H
#define ORTC_RT_ELEMENTARY_H

#include "erf.h"
#include "exp.h"
#include "hyperbolic.h"
#include "log.h"
#include "pow.h"
#include "sqrt.h"
#include "trig.h"

#endif
