# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For tests of networks that people have (43-networks.sh, 46-encrypted.sh): hosts and a switch that
# are cabled and have no address yet, and commands that are recipes of Documentation/howto.rst. What
# stands between "# recipe: NAME" and "# end" is the recipe of that name there, which
# tools/docs/recipes writes. $n is the number of a host. In all of them sw is a switch, and pN there
# leads to eth0 of host hN.

OPS=${OPS:-8}

# ---- Cables --------------------------------------------------------------------------------------

# cables HOSTS [MACHINE...]: what is plugged in, without any address
cables() {
	EXTRA_NETNS=("${@:2}")
	set_up plug_in "$1"
}

plug_in() {
	local h ns

	INC_HOSTS=$1
	{
		topology_batch "$1"
		[ ${#EXTRA_NETNS[@]} = 0 ] || printf 'netns add %s\n' "${EXTRA_NETNS[@]}"
	} | ip -batch - || return
	{
		echo "link set lo up"
		for ((h = 1; h <= INC_HOSTS; h++)); do
			echo "link add p$h type veth peer name eth0 address $(mac "$h") netns h$h"
			echo "link set p$h up"
		done
	} | ip -n sw -batch - || return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		printf 'link set %s up\n' lo eth0 | ip -n "h$h" -batch - || return
	done
	for ns in "${EXTRA_NETNS[@]}"; do
		ip -n "$ns" link set lo up || return
	done
}

# Addresses can be used at once: a rank whose source address changes is not known to its node.
no_dad() {
	local h

	in_ns sw sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 ||
		return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		# a device that has been too narrow for IPv6 gets what is said of all to come
		in_ns "h$h" sysctl -qw net.ipv6.conf.all.accept_dad=0 \
			net.ipv6.conf.default.accept_dad=0 \
			net.ipv6.conf.eth0.accept_dad=0 || return
	done
}

# cable NETNS DEV NETNS DEV
cable() {
	ip -n "$1" link add "$2" type veth peer name "$4" netns "$3" &&
		ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up
}

unplug() {
	inc_topology_destroy
	EXTRA_NETNS=()
}

# at NETNS: the commands on stdin
at() {
	set_up in_ns "$1" bash -ec "$(cat)"
}

# hosts FIRST LAST: the same commands at each of them
hosts() {
	local commands n

	commands=$(cat)
	export n
	for ((n = $1; n <= $2; n++)); do
		at "h$n" <<<"$commands"
	done
}

# ip_at NETNS: what `ip -batch` is to do, on stdin; one process where a recipe has one for each line
ip_at() {
	set_up ip -n "$1" -batch -
}

# ip_hosts FIRST LAST FUNCTION: the same at each of them, which FUNCTION NUMBER prints
ip_hosts() {
	local h

	for ((h = $1; h <= $2; h++)); do
		ip_at "h$h" < <("$3" "$h")
	done
}

# forwarding NETNS PORTS
forwarding() {
	set_up wait_for 60 all_forward "$@"
}

all_forward() {
	[ "$(bridge -n "$1" link show | grep -c 'state forwarding')" = "$2" ]
}

# coll NAME RANKS [ARGUMENTS...]
coll() {
	check "$1" run_ranks "$2" inc-coll --quiet --timeout 20000 --seed "$RANDOM" --ops "$OPS" "${@:3}"
}

# of KIND FUNCTION...: with what not every kernel has: has_KIND says whether, or there is a type of
# device of that name
of() {
	local function has=has_$1

	declare -F "$has" >/dev/null || has=has_device
	if ! "$has" "$1"; then
		without "$@"
		return
	fi
	for function in "${@:2}"; do
		"$function"
	done
}

# has_device TYPE: bond, macvlan, ipvlan; a bond does not go with the link that it was made beside
has_device() {
	local ret=0

	modprobe "$1" 2>/dev/null
	ip link add vlanx type dummy || return
	ip link add vlany link vlanx type "$1" || ret=1
	ip link del vlany
	ip link del vlanx && return "$ret"
} 2>/dev/null

# without KIND FUNCTION...: their tests are skipped, by name
without() {
	local name function

	for function in "${@:2}"; do
		while IFS= read -r name; do
			skip "$name" "this kernel has no $1"
		done < <(declare -f "$function" |
			sed -n 's/^ *\(coll\|check\) "\([^"]*\)".*/\2/p')
	done
}
