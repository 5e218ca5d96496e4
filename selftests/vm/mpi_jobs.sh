# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Jobs of Open MPI and MPICH, a rank on each of $HOSTS hosts, within $INC_TIMEOUT seconds. Needs lib.sh
# before it.

# Starts a command on a host that is named by its address, as ssh would, with temporary files of its
# own. MPICH looks for devices in /sys: in_ns would leave it that of another namespace.
write_launcher() {
	cat >"$INC_TMP/launch" <<-EOF
		#!/bin/sh
		while [ "\${1#-}" != "\$1" ]; do shift; done
		h=h\${1##*.}
		shift
		mkdir -p "$INC_TMP/\$h"
		TMPDIR="$INC_TMP/\$h" exec ip netns exec "\$h" sh -c "\$*"
	EOF
	chmod +x "$INC_TMP/launch"
}

# Ranks' environment: those of JOB, an associative array, that are named here.
VARIABLES=(LD_PRELOAD INC_MPI INC_MPI_TIMEOUT INC_MPI_COLLS INC_MPI_MAX INC_MPI_TUNE INC_MPI_EARLY MPI_COLL_FILE
	MPI_COLL_TUNE MPI_COLL_RUN)
declare -A JOB

# MPI talks over the same network.
start_openmpi() {
	local args=() name

	for name in "${VARIABLES[@]}"; do
		[ ! -v "JOB[$name]" ] || args+=(-x "$name=${JOB[$name]}")
	done
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in_ns sw timeout -k 5 \
		"$INC_TIMEOUT" mpirun.openmpi \
		--oversubscribe -H "$(hosts)" --mca plm_rsh_agent "$INC_TMP/launch" \
		--mca plm_rsh_no_tree_spawn 1 \
		--mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include 10.7.0.0/24 \
		--mca oob_tcp_if_include 10.7.0.0/24 --mca mpi_yield_when_idle 1 \
		--mca hwloc_base_binding_policy none "${args[@]}" "$@"
}

start_mpich() {
	local args=() name

	for name in "${VARIABLES[@]}"; do
		[ ! -v "JOB[$name]" ] || args+=(-genv "$name" "${JOB[$name]}")
	done
	in_ns sw timeout -k 5 "$INC_TIMEOUT" mpiexec.mpich -launcher ssh \
		-launcher-exec "$INC_TMP/launch" \
		-localhost "$INC_NODE4" -hosts "$(hosts)" \
		-genv UCX_TLS tcp,self -genv UCX_NET_DEVICES eth0 \
		"${args[@]}" "$@"
}

hosts() {
	local h list=''

	for ((h = 1; h <= HOSTS; h++)); do
		list+=,10.7.0.$h
	done
	echo "${list#,}"
}
