# SPDX-License-Identifier: GPL-2.0-only
# bash completion for inc(8). As a program, for the shells that have completions of another form:
#
#	bash inc.bash WORD...		prints what the last word may be, of a line that begins with "inc"

_inc_colls="allreduce reduce reduce-scatter broadcast allgather gather scatter alltoall scan exscan barrier"
_inc_types="i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 bool c32 c64 mxf8e4m3 mxf8e5m2 mxf4e2m1 mxi8"
_inc_ops="sum prod min max avg wsum band bor bxor land lor lxor minloc maxloc"

_inc_words()
{
	mapfile -t COMPREPLY < <(compgen -W "$1" -- "${COMP_WORDS[COMP_CWORD]}")
}

# Options, or what follows a "=", at which bash parts words and other shells do not.
_inc_options()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	if [[ $word == *=* || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
		mapfile -t COMPREPLY < <(compgen -W "always auto never" -- "${word#*=}")
	else
		_inc_words "-json -pretty -statistics -details -oneline -brief -color -commands -batch -force \
			-timestamp -netns -Version -help"
	fi
}

# _inc_devs [WORD]: interfaces, and this word
_inc_devs()
{
	local dev devs=""

	for dev in /sys/class/net/*; do
		devs+=" ${dev##*/}"
	done
	_inc_words "$devs${1:+ $1}"
}

_inc_netns()
{
	local ns list=""

	for ns in /var/run/netns/*; do
		[ -e "$ns" ] && list+=" ${ns##*/}"
	done
	_inc_words "$list"
}

_inc_groups()
{
	_inc_words "$(inc -j group show 2>/dev/null | grep -o '"group":[0-9]*' | cut -d: -f2 | sort -un)"
}

_inc_keys()
{
	case "$1 $2" in
	"node add" | "node set" | "node replace")
		_inc_words "dev dead late window max-groups max-memory key fallback standby late-policy parent port multicast types operations" ;;
	"node show" | "node del" | "qdisc show")
		_inc_words "dev" ;;
	"qdisc add" | "qdisc change" | "qdisc replace")
		_inc_words "dev parent handle share control limit port target rate weight" ;;
	"qdisc del")
		_inc_words "dev parent handle" ;;
	"tenant add" | "tenant set" | "tenant replace")
		_inc_words "from port key max-groups max-slots max-memory cpu rate" ;;
	"limits set")
		_inc_words "user sockets operations op-memory pinned-memory groups slot-memory held-memory answers socket-memory" ;;
	"parent find" | "parent discover")
		_inc_words "dev" ;;
	"node announce")
		_inc_words "none port" ;;
	"parent set")
		_inc_words "port dev" ;;
	"ping "*)
		_inc_words "port dev count interval timeout" ;;
	"why "*)
		_inc_words "type op count parent key group" ;;
	"tune show")
		compopt -o default 2>/dev/null ;;
	"topo show")
		_inc_words "--dot port key timeout" ;;
	"plan show")
		_inc_words "file at port ranks local bytes type rate delay used key timeout" ;;
	"plan apply")
		_inc_words "at port ranks local bytes type rate used key timeout" ;;
	"group show" | "member show")
		_inc_words "group" ;;
	esac
}

# _inc_run PROGRAM: options before it, or a program
_inc_run()
{
	local word=${COMP_WORDS[COMP_CWORD]}

	if [ -n "$1" ]; then
		compopt -o default 2>/dev/null
	elif [[ $word == -* ]]; then
		_inc_words "-n -l -k -6 --hosts --label --keep-going --ipv6 --mpi --mtu --show --help"
	else
		case ${COMP_WORDS[COMP_CWORD - 1]} in
		-n | --hosts | --mtu)
			;;
		*)
			mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
		esac
	fi
}

# _inc_plan WORD: what follows this word; 1: what follows any other object's
_inc_plan()
{
	case $1 in
	file)
		compopt -o default 2>/dev/null ;;
	type)
		_inc_words "f32 i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f64 f8e4m3 f8e5m2 \
			mxf8e4m3 mxf8e5m2 mxf4e2m1 mxi8" ;;
	at | ranks | local | bytes | delay | used | timeout)
		;;
	*)
		return 1 ;;
	esac
}

_inc_why()
{
	case $1 in
	type)
		_inc_words "$_inc_types" ;;
	op)
		_inc_words "$_inc_ops" ;;
	key)
		_inc_words "@" ;;
	group)
		_inc_groups ;;
	count | parent)
		;;
	*)
		_inc_keys why "" ;;
	esac
}

_inc()
{
	local object="" command="" prev=${COMP_WORDS[COMP_CWORD - 1]} i

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-n | -netns | -b | -batch | --hosts | --mtu)
			((i++)) ;;
		-* | = | always | auto | never)
			;;
		*)
			if [ -z "$object" ]; then
				object=${COMP_WORDS[i]}
			elif [ -z "$command" ]; then
				command=${COMP_WORDS[i]}
			fi ;;
		esac
	done

	if [ "$object" = run ]; then
		_inc_run "$command"
		return
	fi
	if [ "$object" = why ] && [ -n "$command" ]; then
		_inc_why "$prev"
		return
	fi
	if [ "$object" = plan ] && [ -n "$command" ] && _inc_plan "$prev"; then
		return
	fi
	case $prev in
	-n | -netns)
		_inc_netns ;;
	-b | -batch)
		compopt -o default 2>/dev/null ;;
	dev)
		if [ "$object" = node ]; then _inc_devs all; else _inc_devs; fi ;;
	group)
		if [ -n "$command" ]; then _inc_groups; else _inc_words "show help"; fi ;;
	fallback)
		if [ -n "$command" ]; then _inc_words "none standby edge"; else _inc_words "show help"; fi ;;
	late-policy)
		_inc_words "wait fail partial" ;;
	parent)
		if [ -z "$command" ]; then _inc_words "show set find discover del help"; elif [ "$object" = node ]; then _inc_words none; elif [ "$object" = qdisc ]; then _inc_words root; fi ;;
	port | from)
		if [ -z "$command" ]; then _inc_words "show help"; elif [ "$object" != tenant ]; then :; elif [ "$prev" = port ]; then _inc_devs any; else _inc_words any; fi ;;
	key)
		if [ -n "$command" ]; then _inc_words "none @"; else _inc_words "show help"; fi ;;
	dead | late | window | max-groups | max-slots | max-memory | standby | handle | share | control | limit | target | rate | weight | cpu)
		[ -n "$command" ] || _inc_words "show help" ;;
	*)
		if [ -z "$object" ] && [[ $prev == = || ${COMP_WORDS[COMP_CWORD]} == [-=]* ]]; then
			_inc_options
		elif [ -z "$object" ]; then
			_inc_words "help node parent group member stats port caps limits tenant qdisc monitor ping topo plan why run save metrics tune"
		elif [ -n "$command" ]; then
			_inc_keys "$object" "$command"
		elif [ "$object" = node ]; then
			_inc_words "show add set replace del announce help"
		elif [ "$object" = tenant ]; then
			_inc_words "show add set replace del help"
		elif [ "$object" = parent ]; then
			_inc_words "show set find discover del help"
		elif [ "$object" = qdisc ]; then
			_inc_words "show add change replace del help"
		elif [ "$object" = limits ]; then
			_inc_words "show set help"
		elif [ "$object" = save ] || [ "$object" = metrics ]; then
			_inc_words "help"
		elif [ "$object" = ping ]; then
			_inc_words "port dev count interval timeout help"
		elif [ "$object" = plan ]; then
			_inc_words "show apply help"
		elif [ "$object" = why ]; then
			_inc_words "$_inc_colls type op count parent key group help"
		else
			_inc_words "show help"
		fi ;;
	esac
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	COMP_WORDS=("$@")
	COMP_CWORD=$(($# - 1))
	_inc
	[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}"
else
	complete -F _inc inc
fi
