# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# `inc save` of what cannot be saved as it is. To be sourced by run, whose result, skip, wanted and
# with_port it uses, and its $tmp and $top.

# shellcheck disable=SC2154

build_save()
{
	local from=$top/userspace/inc

	# shellcheck disable=SC2046
	"${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -DINC_TOOL_VERSION='"0"' \
		$(pkg-config --cflags libnl-3.0) -I"$from" -I"$top/userspace/libinc" \
		-I"$top/uapi" -o "$tmp/save" "$here/save.c" \
		"$from"/{save,limits,tenant,parent,node,qdisc,qdisc_opt,qdisc_set,qdisc_show}.c \
		"$from"/{plan,plan_file,cost,names,attr,text,print,args,error,batch,lldp,ask,ping}.c \
		"$top/userspace/libinc/"{key,format,shape}.c $(pkg-config --libs libnl-3.0)
}

# saved NAME WARNINGS LINES COMMAND...: it prints these lines but for the namespace's limits, and
# warns of that
saved()
{
	local name="save: $1" warnings=$2 lines=$3
	shift 3

	"$@" >"$tmp/saved" 2>"$tmp/err" &&
		diff <(grep -v '^limits set sockets 1 ' "$tmp/saved") - <<<"$lines" >"$tmp/log" &&
		[ "$(tee "$tmp/log" <"$tmp/err")" = "$warnings" ]
	result $? "$name"
	sed 's/^/# /' "$tmp/log"
}

# All that save has printed can be run again.
runs_again()
{
	"$tmp/save" restore <"$tmp/saved" >"$tmp/log" 2>&1
	result $? "save: $1: it can be run again"
	grep -v '^run: ' "$tmp/log" | sed 's/^/# /'
}

save_gone()
{
	local node="node replace dev p1 dead 700" from="from 10.1.0.0/16" qdisc="share 55 rate measured weight none"

	saved "all is there" "" "\
tenant replace some $from port p1,p2 max-groups 5
tenant replace none $from port p2 max-groups 5
tenant replace any $from max-groups 5
parent set fe80::9 dev p2
$node parent fe80::9%p2
qdisc replace handle 5: dev p1 parent root $qdisc" "$tmp/save" all
	runs_again "all is there"
	saved "interfaces are gone, and qdiscs are others'" "\
inc: warning: save: interfaces are gone: comments have the commands that name them
inc: warning: save: qdiscs are below others, which are not saved: comments have them" "\
# if12 is gone: tenant replace some $from port p1,if12 max-groups 5
tenant replace some $from port p1 max-groups 5
# if12 is gone: tenant replace none $from port if12 max-groups 5
tenant replace none from 0.0.0.0/32 max-groups 5
tenant replace any $from max-groups 5
# if12 is gone: parent set fe80::9 dev if12
# if12 is gone: $node parent fe80::9%if12
$node
qdisc replace handle 5: dev p1 parent root $qdisc
# after the qdisc of class 1:1: qdisc replace handle 6: dev p2 parent 1:1 $qdisc
# there are qdiscs that net.core.default_qdisc makes" "$tmp/save" gone
	runs_again "interfaces are gone"
}

# Limits of users can be set in the initial user namespace only.
save_users()
{
	local rest map
	rest=$("$tmp/save" all | grep -v '^limits ')
	read -r -a map </proc/self/uid_map

	if [ "${map[*]}" != "0 0 4294967295" ]; then
		skip "save: limits of users" "this is another user namespace"
		return
	fi
	saved "limits of users" "" "limits set user sockets 100 held-memory 65536
$rest" "$tmp/save" set
	runs_again "limits of users"
	saved "limits of users, of whom root only has anything" \
		"inc: warning: save: limits of users may have been set: a comment has them" \
		"# if they were set: limits set user sockets 100 held-memory 65536
$rest" "$tmp/save" set-unsure
	if ! unshare -r true 2>/dev/null; then
		skip "save: limits of users, in a user namespace" "there are none"
		return
	fi
	saved "limits of users, in a user namespace" "" "$rest" unshare -r "$tmp/save" set
}

# Where the module has another port, that is what a parent has of which none is said.
save_other_port()
{
	local name="save: a parent's port that is not the module's"

	if ! unshare -rm true 2>/dev/null; then
		skip "$name" "there are no user namespaces"
		return
	fi
	with_port 5232 "$tmp/save" all >"$tmp/log" 2>&1 &&
		grep -qx 'node replace dev p1 dead 700 parent fe80::9%p2 port 5227' "$tmp/log" &&
		with_port 5227 "$tmp/save" all >"$tmp/log" 2>&1 &&
		grep -qx 'node replace dev p1 dead 700 parent fe80::9%p2' "$tmp/log"
	result $? "$name"
	sed 's/^/# /' "$tmp/log"
}

plan_applied()
{
	"$tmp/save" plan >"$tmp/log" 2>&1 && grep -qx 'run: parent set fe80::9%p2' "$tmp/log"
	result $? "plan apply: a link-local address has its interface behind it"
	sed 's/^/# /' "$tmp/log"
}

save_and_restore()
{
	wanted "save" || return
	if ! command -v "${CC:-cc}" pkg-config >/dev/null; then
		skip "save" "there is no compiler"
		return
	fi
	if [ ! -e "$top/userspace/inc/save.c" ]; then
		skip "save" "the sources are not here"
		return
	fi
	build_save >"$tmp/log" 2>&1
	result $? "save: a kernel that says what is wanted"
	sed 's/^/# /' "$tmp/log"
	save_gone
	save_users
	save_other_port
	plan_applied
}
