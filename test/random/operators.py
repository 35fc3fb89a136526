# SPDX-License-Identifier: Apache-2.0
"""What random graphs are made of: one function per operator (or per chain that exporters write), in operations/. Each looks
for values that it can be applied to, and says how large its result is and how exact."""
# In this order, which seeds depend on: each adds its functions to ALL.
import operations.elementwise  # noqa: F401
import operations.movement  # noqa: F401
import operations.rows  # noqa: F401
import operations.products  # noqa: F401
import operations.regions  # noqa: F401
from operations.common import ALL  # noqa: F401
