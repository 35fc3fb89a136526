# SPDX-License-Identifier: Apache-2.0
"""For test scripts in Python: count passes, failures and skips, and print the totals line that scripts/test adds up."""
import sys


class Totals:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, name, ok, why=""):
        if ok:
            self.passed += 1
            print(f"pass: {name}", flush=True)
        else:
            self.failed += 1
            print(f"FAIL: {name}{': ' + why if why else ''}", flush=True)
        return ok

    def skip(self, name, reason):
        self.skipped += 1
        print(f"skip: {name}: {reason}", flush=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        sys.exit(1 if self.failed else 0)
