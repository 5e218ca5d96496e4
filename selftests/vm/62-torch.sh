#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The backend "inc" of PyTorch, a rank on each host: all collectives against Gloo's, trainings, and
# what happens when a rank is killed, late, or has no node. In a guest only if TORCH=1 is set, as
# `make check-programs` does: PyTorch is large, and takes minutes to begin in an emulated machine.
# TESTS: some of the functions in ../torch/torch_ranks.py.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

HOSTS=4
python=${TORCH_PYTHON:-/usr/bin/python3}
package=$INC_TOP/build/userspace/torch
program=$(cd "$(dirname "$0")/../torch" && pwd)/torch_ranks.py

[ -z "${INC_VM-}" ] || [ "${TORCH-}" = 1 ] ||
	skip_all "in a guest only with TORCH=1: make check-programs"
# Who asks for it is not to take a test that cannot run for one that has passed.
[ "${TORCH-}" = 1 ] || [ -e "$package/inc_torch/_c10d.so" ] ||
	skip_all "the backend is not built: make -C userspace torch"
[ "${TORCH-}" = 1 ] ||
	"$python" -c \
		'import importlib.util, sys; sys.exit(not importlib.util.find_spec("torch"))' ||
	skip_all "there is no PyTorch: tools/deps torch"

lib=$(dirname "$(command -v inc-allreduce)")/../lib
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$package:$PYTHONPATH
# Its threads would take the processor from those that they wait for.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Seconds for the ranks of one test, on a machine that is busy.
export RANK_TIMEOUT=${RANK_TIMEOUT:-240}
read -ra tests <<<"${TESTS-}"

inc_begin
inc_topology_create "$HOSTS"
results_of timeout -k 5 "${LAB_TIMEOUT:-3000}" "$python" "$program" "$HOSTS" "${tests[@]}"
check "groups are gone" wait_for 60 no_groups
inc_end
