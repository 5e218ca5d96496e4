# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# How libinc-mpi begins and ends, for each MPI that is installed. It needs no module: the MPI does
# all collectives. To be sourced by run, whose result, skip and wanted it uses, and its $tmp, $top
# and $here.

# shellcheck disable=SC2154

mpi_libs=$top/build/userspace/lib/mpi

# begun MPI MODE PRELOADED [OTHERS]: mpi_begin on 3 ranks, with these libraries at rank 0 and at the
# others; what it says is in $tmp/begun. The launcher and the shell have nothing preloaded.
begun()
{
	begun_by "$1" "$tmp/begin.$1" "$2" "$3" "${4-}"
}

# The same, of which MPI is loaded when the program has begun.
begun_late()
{
	begun_by "$1" "$tmp/late $tmp/begin.$1.so" "$2" "$3" "$3"
}

# begun_by MPI COMMAND MODE PRELOADED OTHERS
begun_by()
{
	local run=(timeout -k 5 90 "mpirun.$1" -np 3)

	# Open MPI 5 thinks that what is spawned is on another machine, and cannot be reached by all links
	[ "$1" != openmpi ] || run+=(--allow-run-as-root --oversubscribe --mca btl_tcp_if_include lo)
	# shellcheck disable=SC2016
	printf 'case ${OMPI_COMM_WORLD_RANK-$PMI_RANK} in 0) l="%s";; *) l="%s";; esac\n%s\n' \
		"$4" "$5" "LD_PRELOAD=\$l exec $2 \"\$@\"" >"$tmp/begin.sh"
	# MPICH's launcher forwards the end of its input, see launchers.sh
	"${run[@]}" sh "$tmp/begin.sh" "$3" 0<>"$tmp/begin.input" \
		>"$tmp/begun" 2>&1 && grep -q '^passed$' "$tmp/begun"
}

mpi_result()
{
	result "$1" "libinc-mpi: $2"
	[ "$1" = 0 ] || sed 's/^/# /' "$tmp/begun"
}

# Of some ranks' collectives libinc-mpi sees nothing: INC is off, and nobody waits for anybody.
two_beginnings()
{
	local lib=$mpi_libs/$1/libinc-mpi.so

	INC_MPI=verbose begun "$1" mixed "$lib" "$lib" &&
		[ "$(grep -c 'INC is off: not every rank calls MPI_Init' "$tmp/begun")" = 1 ]
}

# other_version FILE COPY: a copy that says of itself that it is of another version
other_version()
{
	mkdir -p "$(dirname "$2")" && sed 's/libinc-mpi 0/libinc-mpi 9/' "$1" >"$2" &&
		! cmp -s "$1" "$2"
}

# In it, what ranks tell one another may have another length.
two_versions()
{
	local lib=$mpi_libs/$1/libinc-mpi.so other=$tmp/other/$1.so

	other_version "$lib" "$other" &&
		LD_LIBRARY_PATH=$top/build/userspace/lib INC_MPI=verbose begun "$1" c "$lib" "$other" &&
		[ "$(grep '^libinc-mpi: ' "$tmp/begun")" = \
			"libinc-mpi: INC is off: ranks have different versions of this library" ]
}

# Ranks without the library would notice anything that the others exchange by it.
off_is_off()
{
	INC_MPI=off begun "$1" c "$mpi_libs/$1/libinc-mpi.so" && ! grep -q libinc-mpi "$tmp/begun"
}

# Nothing is done that was not asked for, and one rank says which name it is, and lists those there are.
unknown_name()
{
	local lib=$mpi_libs/$1/libinc-mpi.so

	INC_MPI_COLLS=bcast,all_reduce,barrier begun "$1" c "$lib" "$lib" &&
		[ "$(grep -c '^libinc-mpi: INC_MPI_COLLS: "all_reduce": no such collective; .* bcast ' \
			"$tmp/begun")" = 1 ] && [ "$(grep -c INC_MPI_COLLS "$tmp/begun")" = 1 ]
}

# Nothing of MPI has been called yet: who has started it is told what to preload.
other_library()
{
	local lib=$mpi_libs/$2/libinc-mpi.so

	! begun "$1" c "$lib" "$lib" &&
		[ "$(grep -c "^libinc-mpi: .*; preload $mpi_libs/$1/libinc-mpi.so\$" \
			"$tmp/begun")" = 1 ]
}

# Its collectives are seen, if it is the library of the MPI that is loaded.
loaded_late()
{
	INC_MPI=verbose begun_late "$1" c "$mpi_libs/$1/libinc-mpi.so" &&
		grep -q '^libinc-mpi: by MPI: one_host ' "$tmp/begun" &&
		! begun_late "$1" c "$mpi_libs/$2/libinc-mpi.so" &&
		[ "$(grep -c "^libinc-mpi: .*; preload $mpi_libs/$1/libinc-mpi.so\$" \
			"$tmp/begun")" = 1 ]
}

# A rank that has not preloaded the library never comes to agree with the others: the job ends.
some_ranks()
{
	! begun "$1" c "$mpi_libs/$1/libinc-mpi.so" &&
		grep -q 'rank 0: not all ranks have come within .*: the library has to be preloaded' \
			"$tmp/begun"
}

# What it spawns has nothing preloaded: ranks of the two do collectives together.
spawned_job()
{
	local lib=$mpi_libs/$1/libinc-mpi.so

	INC_MPI=verbose begun "$1" spawn "$lib" "$lib" &&
		grep -q '^libinc-mpi: by MPI: other_job .*: 3 calls$' "$tmp/begun"
}

# Callbacks of MPI_Finalize() do collectives, in which ranks agree: each is asked, or none.
ends_by_callback()
{
	local lib=$mpi_libs/$1/libinc-mpi.so

	INC_MPI=verbose begun "$1" callback "$lib" "$lib" &&
		grep -q '^libinc-mpi: by MPI: one_host ' "$tmp/begun"
}

# A callback of rank 0 sends what rank 1 waits for before it ends: nobody waits for all before that.
message_at_end()
{
	local lib=$mpi_libs/$1/libinc-mpi.so

	INC_MPI=verbose begun "$1" message "$lib" "$lib" &&
		grep -q '^libinc-mpi: by MPI: one_host ' "$tmp/begun"
}

# Open MPI calls its component in them, too. The report comes even so.
component_ends()
{
	OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$mpi_libs/openmpi INC_MPI=verbose \
		begun openmpi callback '' &&
		[ "$(grep -c '^libinc-mpi: by MPI: one_host ' "$tmp/begun")" = 1 ]
}

# A process that has turned it off by its priority leaves nobody waiting.
component_priority()
{
	# shellcheck disable=SC2016
	OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$mpi_libs/openmpi INC_MPI=verbose \
		begun_by openmpi \
		"env OMPI_MCA_coll_inc_priority=\$((90 * OMPI_COMM_WORLD_RANK - 1)) $tmp/begin.openmpi" \
		c '' '' && ! grep -q one_host "$tmp/begun"
}

# begun_components OTHERS: with the component at rank 0, and the one of this directory at others
begun_components()
{
	# shellcheck disable=SC2016
	printf 'case $OMPI_COMM_WORLD_RANK in 0) dir=%s;; *) dir=%s;; esac\n%s\n' \
		"$mpi_libs/openmpi" "$1" \
		'OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT:$dir exec "$@"' \
		>"$tmp/components.sh"
	LD_LIBRARY_PATH=$top/build/userspace/lib INC_MPI=verbose \
		begun_by openmpi "sh $tmp/components.sh $tmp/begin.openmpi" c '' ''
}

# Ranks do without it where one has another version.
component_versions()
{
	other_version "$mpi_libs/openmpi/mca_coll_inc.so" "$tmp/other/mca_coll_inc.so" &&
		begun_components "$mpi_libs/openmpi" && grep -q one_host "$tmp/begun" &&
		begun_components "$tmp/other" && ! grep -q one_host "$tmp/begun"
}

# Ranks on one host have no group: there is nothing to measure, and no table is written.
nothing_to_measure()
{
	local run=(timeout -k 5 90 "mpirun.$1" -np 2)

	[ "$1" != openmpi ] || run+=(--allow-run-as-root --oversubscribe)
	! LD_PRELOAD='' "${run[@]}" env LD_PRELOAD="$mpi_libs/$1/libinc-mpi.so" \
		"$mpi_libs/$1/inc-mpi-tune" -o "$tmp/table" 0<>"$tmp/begin.input" >"$tmp/begun" 2>&1 &&
		[ "$(grep -c '^inc-mpi-tune: the ranks have no group: ' "$tmp/begun")" = 1 ] &&
		! ls "$tmp"/table* 2>/dev/null
}

# mpi_begins MPI OTHER
mpi_begins()
{
	local names=("$1: a collective's name that there is not" "$1: ranks that begin in two ways" "$1: off" "$1: the library of $2"
		"$1: preloaded at some ranks" "$1: loaded late"
		"$1: no group, nothing to measure" "$1: collectives in MPI_Finalize"
		"$1: a message in MPI_Finalize" "$1: ranks with libraries of two versions") name

	# Debian's MPICH, over UCX, cannot spawn
	[ "$1" = mpich ] || names+=("$1: spawns what has nothing preloaded"
		"component of $1: collectives in MPI_Finalize"
		"component of $1: off at a rank by its priority"
		"component of $1: ranks with two versions of it")

	if ! command -v "mpicc.$1" >/dev/null || ! command -v "mpirun.$1" >/dev/null ||
		[ ! -d "$mpi_libs/$1" ] || [ ! -d "$mpi_libs/$2" ]; then
		for name in "${names[@]}"; do
			skip "libinc-mpi: $name" "there are not both MPIs"
		done
		return
	fi
	if ! "mpicc.$1" -std=gnu11 -Wall -Wextra -Werror -o "$tmp/begin.$1" \
		"$here/mpi_begin.c" >"$tmp/begun" 2>&1 ||
		! "mpicc.$1" -std=gnu11 -shared -fPIC -Dmain=mpi_begin -o "$tmp/begin.$1.so" \
			"$here/mpi_begin.c" >"$tmp/begun" 2>&1 ||
		! cc -std=gnu11 -Wall -Wextra -Werror -o "$tmp/late" "$here/mpi_late.c" \
			>"$tmp/begun" 2>&1; then
		mpi_result 1 "$1: mpi_begin.c"
		return
	fi
	unknown_name "$1"
	mpi_result $? "${names[0]}"
	two_beginnings "$1"
	mpi_result $? "${names[1]}"
	off_is_off "$1"
	mpi_result $? "${names[2]}"
	other_library "$1" "$2"
	mpi_result $? "${names[3]}"
	some_ranks "$1"
	mpi_result $? "${names[4]}"
	loaded_late "$1" "$2"
	mpi_result $? "${names[5]}"
	nothing_to_measure "$1"
	mpi_result $? "${names[6]}"
	ends_by_callback "$1"
	mpi_result $? "${names[7]}"
	message_at_end "$1"
	mpi_result $? "${names[8]}"
	two_versions "$1"
	mpi_result $? "${names[9]}"
	[ "$1" != mpich ] || return 0
	spawned_job "$1"
	mpi_result $? "${names[10]}"
	if [ ! -e "$mpi_libs/openmpi/mca_coll_inc.so" ]; then
		skip "libinc-mpi: ${names[11]}" "there is no component"
		skip "libinc-mpi: ${names[12]}" "there is no component"
		skip "libinc-mpi: ${names[13]}" "there is no component"
		return
	fi
	component_ends
	mpi_result $? "${names[11]}"
	component_priority
	mpi_result $? "${names[12]}"
	component_versions
	mpi_result $? "${names[13]}"
}

libinc_mpi()
{
	wanted "libinc-mpi" || return
	mkfifo "$tmp/begin.input"
	mpi_begins openmpi mpich
	mpi_begins mpich openmpi
}
