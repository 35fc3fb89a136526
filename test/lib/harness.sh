# SPDX-License-Identifier: Apache-2.0
# For test scripts in bash: pass/fail/skip NAME, expect_ok NAME command..., and `totals` as the last line. Sourcing it
# also sets up the environment of scripts/env.sh and a scratch folder $scratch that is removed at the end.
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/env.sh"
n_passed=0 n_failed=0 n_skipped=0
scratch="$(mktemp -d "${TMPDIR:-/tmp}/ortc-test.XXXXXX")"
trap 'rm -rf "$scratch"' EXIT

pass() { n_passed=$((n_passed + 1)); echo "pass: $1"; }
fail() { n_failed=$((n_failed + 1)); echo "FAIL: $1${2:+: $2}"; }
skip() { n_skipped=$((n_skipped + 1)); echo "skip: $1: $2"; }

# expect_ok NAME command...: passes when the command exits 0; its output is shown only when it does not.
expect_ok() {
  local name="$1"
  shift
  if "$@" >"$scratch/out" 2>&1; then
    pass "$name"
  else
    fail "$name" "exit $? from: $*"
    sed 's/^/    /' "$scratch/out"
    return 1
  fi
}

# expect_fail NAME STATUS TEXT command...: passes when the command exits with STATUS and says TEXT.
expect_fail() {
  local name="$1" status="$2" text="$3" got=0
  shift 3
  "$@" >"$scratch/out" 2>&1 || got=$?
  if [ $got = "$status" ] && grep -qF -- "$text" "$scratch/out"; then
    pass "$name"
  else
    fail "$name" "exit $got instead of $status, or no '$text' from: $*"
    sed 's/^/    /' "$scratch/out"
    return 1
  fi
}

# A missing tool is a failure where scripts/setup should have installed it: the skip is then refused in CI.
need() {
  command -v "$1" >/dev/null && return 0
  skip "$2" "no $1"
  return 1
}

totals() {
  echo "$n_passed passed, $n_failed failed, $n_skipped skipped"
  [ $n_failed = 0 ]
}
