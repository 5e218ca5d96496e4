#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The backend "inc" of PyTorch, a rank on each host: all collectives against Gloo's, trainings, and
# what happens when a rank is killed, late, or has no node. In a guest only if TORCH=1 is set, as
# `make check-programs` does: PyTorch is large, and takes minutes to begin in an emulated machine.
# TESTS: some of the functions in ../torch/torch_ranks.py; `launched` is what a launcher starts.
# TORCH_ROOT: in a guest, the system whose python and PyTorch it is, TORCH_OUT: what has been built for
# that; see ../torch/debian13.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

HOSTS=4
python=${TORCH_PYTHON:-/usr/bin/python3}
built=${TORCH_OUT:-$INC_TOP/build/userspace}
package=$built/torch
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
[ -z "${TORCH_OUT-}" ] || lib=$built/lib
export LD_LIBRARY_PATH=$lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PYTHONPATH=$package:$PYTHONPATH
# Its threads would take the processor from those that they wait for.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# PyTorch 2 prefers it for stores, and Debian's does not have it.
export USE_LIBUV=${USE_LIBUV:-0}
# Seconds for the ranks of one test, on a machine that is busy.
export RANK_TIMEOUT=${RANK_TIMEOUT:-240}
read -ra tests <<<"${TESTS-}"
example=$INC_TOP/userspace/torch/examples/ddp_digits.py
# What stays when a guest has ended.
out=${INC_VM_OUT:-$INC_TMP}
launched=(timeout -k 5 "${LAB_TIMEOUT:-3000}" inc run -n "$HOSTS" --)

# torchrun PROGRAM [ARGUMENT...]: one on each of the hosts, of one rank. That of 1.13 finds no value
# for "no output goes to a file" with Python 3.11: some goes there, of a rank that there is not.
torchrun() {
	# shellcheck disable=SC2016 # the hosts'
	"${launched[@]}" env -u INC_RANK -u INC_SIZE sh -c \
		'python=$1
		shift
		exec "$python" -m torch.distributed.run --nnodes "$WORLD_SIZE" --node_rank "$RANK" \
			--master_addr "$MASTER_ADDR" --master_port "$MASTER_PORT" \
			--nproc_per_node 1 --redirects 1:3 --tee 1:3 "$@"' \
		sh "$python" "$@"
}

training() {
	rm -f "$out"/torch-training.*
	torchrun "$example" --steps 60 --out "$out/torch-training.json" &&
		"$python" "$example" --plot "$out/torch-training.json" "$out/torch-training.svg"
}

# How many allreduces of gradients INC did, and Gloo in the same group; steps, and curves drawn.
training_counts() {
	"$python" - "$out/torch-training.json" "$out/torch-training.svg" <<-'END'
		import json, sys, xml.etree.ElementTree as tree
		report = json.load(open(sys.argv[1]))
		losses = [len(run["losses"]) for run in report["runs"].values()]
		spent = [run["communication"][-1] > 0 for run in report["runs"].values()]
		curves = list(tree.parse(sys.argv[2]).iter("{http://www.w3.org/2000/svg}polyline"))
		points = [len(curve.get("points").split()) for curve in curves]
		got = report["by_inc"] >= 60, report["by_gloo"], losses, spent, points
		print(*got)
		sys.exit(got != (True, 0, [60, 60], [True, True], [60, 60, 60, 60]))
	END
}

# A table that inc_torch.tune has measured is one for `inc tune`, and for the backend.
tune() {
	"${launched[@]}" "$python" -m inc_torch.tune -q -n 3 -s 1024-65536 -o "$out/torch.tune" \
		-c allreduce,reduce_scatter_block,barrier &&
		[ "$(inc tune show "$out/torch.tune" | sed 's/ type.*//' | sort | uniq -c | xargs)" = \
			"4 allreduce 1 barrier 4 reduce_scatter_block" ] &&
		INC_TORCH=verbose INC_TORCH_TUNE=$out/torch.tune "${launched[@]}" "$python" "$example" \
			--steps 2 2>&1 | grep "9 lines of the tuning table"
}

# The other system sees hosts, devices and files of this one.
enter_root() {
	local dir

	for dir in /dev /proc /sys /run /tmp "$INC_TOP" "$INC_TMP" "$out"; do
		# one that lies in another may be there by now
		[ ! "$TORCH_ROOT$dir" -ef "$dir" ] || continue
		mkdir -p "$TORCH_ROOT$dir" && mount --rbind "$dir" "$TORCH_ROOT$dir" || return
	done
	# shellcheck disable=SC2016 # the script's
	printf '#!/bin/sh\nexec chroot "%s" python3 "$@"\n' "$TORCH_ROOT" >"$INC_TMP/python" &&
		chmod +x "$INC_TMP/python"
}

inc_begin
inc_topology_create "$HOSTS"
if [ -n "${TORCH_ROOT-}" ]; then
	set_up enter_root
	python=$INC_TMP/python
fi
results_of timeout -k 5 "${LAB_TIMEOUT:-3000}" "$python" "$program" "$HOSTS" "${tests[@]}"
check "groups are gone" wait_for 60 no_groups
if [[ " ${tests[*]:-launched} " == *" launched "* ]]; then
	check "torchrun starts a DDP training, whose losses are those by Gloo" training
	check "INC has done its allreduces, and the plot has all of its steps" training_counts
	check "a tuning table is measured, read and used" tune
fi
inc_end
