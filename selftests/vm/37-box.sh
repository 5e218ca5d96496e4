#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A node is a box: it serves ranks that come by its bridges, VLAN devices, bonds and routed ports,
# in any VRF, at any of its addresses. Every scenario runs random collectives over IPv4 and IPv6;
# inc-coll compares each element. In all of them sw is the box and port pN leads to host hN. box.py
# has what must be refused.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/lab.sh"

OPS=${OPS:-25}

# box HOSTS: namespaces sw and h1 to hN with a link each; `ip -batch` for sw on stdin
box() {
	set_up make_box "$@"
}

# forwards NETNS: it is a router
forwards() {
	in_ns "$1" \
		sh -c \
		'echo 1 >/proc/sys/net/ipv4/ip_forward && echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'
}

make_box() {
	local h

	INC_HOSTS=$1
	topology_batch "$1" | ip -batch - || return
	{
		echo "link set lo up"
		for ((h = 1; h <= INC_HOSTS; h++)); do
			echo \
				"link add p$h address $(mac $((100 + h))) type veth peer name eth0 address $(mac "$h") netns h$h"
			echo "link set p$h up"
		done
		cat
	} | ip -n sw -batch - || return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		printf 'link set %s up\n' lo eth0 | ip -n "h$h" -batch - || return
	done
	forwards sw
}

# host NUMBER COMMANDS...: of `ip`, in its namespace
host() {
	local h=$1

	shift
	set_up host_batch_of "$h" "$@"
}

host_batch_of() {
	local h=$1

	shift
	printf '%s\n' "$@" | ip -n "h$h" -batch -
}

forwarding() {
	set_up wait_for 60 all_forward "$1"
}

all_forward() {
	[ "$(bridge -n sw link show | grep -c 'state forwarding')" = "$1" ]
}

node() {
	set_up inc -n sw node "$@"
}

# coll NAME RANKS PARENT...: the last parent is that of all further ranks
coll() {
	local name=$1 n=$2 r

	shift 2
	for ((r = 0; r < n; r++)); do
		rank_args "$r" "--parent $1"
		[ $# = 1 ] || shift
	done
	check "$name" run_ranks "$n" inc-coll --quiet --timeout 20000 --seed "$RANDOM" --ops "$OPS"
	wait_for 60 no_groups || true
}

# ports NAME PORT...: have carried packets of the node's groups since it was added, and no others
# have
ports() {
	local name=$1

	shift
	check "$name" expect "ports" \
		"$(inc -n sw -j port show | grep -o '"dev":"[^"]*"' | cut -d'"' -f4 | sort -u |
		xargs)" = "$*"
}

# port_renamed OLD NEW: it is in the list with the name that its device has
port_renamed() {
	ip -n sw link set "$1" down && ip -n sw link set "$1" name "$2" && ip -n sw link set "$2" up ||
		return
	inc -n sw -j port show | grep -q "\"dev\":\"$2\"" &&
		! inc -n sw -j port show | grep -q "\"dev\":\"$1\""
}

# port_goes PORT: with its device, from the list, and traffic by the others is counted on
port_goes() {
	ip -n sw link del "$1" || return
	! inc -n sw -j port show | grep -q "\"dev\":\"$1\""
}

bridge_in_vrf() {
	local dev

	box 3 <<-END
	link add vrfa type vrf table 10
	link set vrfa up
	link add br0 address $(mac 254) type bridge
	link set br0 master vrfa up
	addr add 10.7.0.254/24 dev br0
	addr add fd00:7::fe/64 dev br0 nodad
	link set p1 master br0
	link set p2 master br0
	link set p3 master vrfa
	addr add 10.8.0.254/24 dev p3
	addr add fd00:8::fe/64 dev p3 nodad
	END
	host 1 "addr add 10.7.0.1/24 dev eth0" "addr add fd00:7::1/64 dev eth0 nodad"
	host 2 "addr add 10.7.0.2/24 dev eth0" "addr add fd00:7::2/64 dev eth0 nodad"
	host 3 "addr add 10.8.0.1/24 dev eth0" "addr add fd00:8::1/64 dev eth0 nodad" \
		"route add default via 10.8.0.254" "route add default via fd00:8::fe"
	forwarding 2
	for dev in br0 vrfa all; do
		node add dev "$dev"
		coll "a bridge in a VRF, node $dev, IPv4" 2 10.7.0.254
		coll "a bridge in a VRF, node $dev, IPv6" 2 fd00:7::fe
		ports "its ports are those of the bridge, node $dev" p1 p2
		coll "a bridge and a routed port in a VRF, node $dev, IPv4" 3 10.7.0.254
		coll "a bridge and a routed port in a VRF, node $dev, IPv6" 3 fd00:7::fe
		ports "the routed one is a port, too, node $dev" p1 p2 p3
		[ "$dev" != all ] || lab box.py hook:
		node del dev "$dev"
	done
	inc_topology_destroy
}

routed_leaf() {
	local dev

	box 4 <<-END
	addr add 10.255.0.1/32 dev lo
	addr add fd00:255::1/128 dev lo
	addr add 10.1.1.0/31 dev p1
	addr add 10.1.2.254/24 dev p2
	addr add 10.1.3.254/24 dev p3
	addr add 10.1.4.254/24 dev p4
	addr add fd00:1:1::fe/64 dev p1 nodad
	addr add fd00:1:2::fe/64 dev p2 nodad
	addr add fd00:1:3::fe/64 dev p3 nodad
	addr add fd00:1:4::fe/64 dev p4 nodad
	END
	host 1 "addr add 10.1.1.1/31 dev eth0" "addr add fd00:1:1::1/64 dev eth0 nodad" \
		"route add default via 10.1.1.0" "route add default via fd00:1:1::fe"
	for h in 2 3 4; do
		host "$h" "addr add 10.1.$h.1/24 dev eth0" \
			"addr add fd00:1:$h::1/64 dev eth0 nodad" \
			"route add default via 10.1.$h.254" "route add default via fd00:1:$h::fe"
	done
	for dev in lo all; do
		node add dev "$dev"
		coll "a routed leaf, at its loopback address, node $dev, IPv4" 3 10.255.0.1
		coll "a routed leaf, at its loopback address, node $dev, IPv6" 3 fd00:255::1
		ports "its ports are routed, node $dev" p1 p2 p3
		[ "$dev" = lo ] || coll "at other addresses of it, one for each rank" \
			3 10.255.0.1 10.1.1.0 10.1.3.254
		check "nobody got what was not from his address, node $dev" expect "drop_port" \
			"$(counter h1 drop_port)" -eq 0
		# each of them also sees, and drops, what is for the other one
		[ "$dev" = lo ] || coll "two ranks of a host, at different addresses" \
			5 10.255.0.1 10.255.0.1 10.255.0.1 \
			10.255.0.1 10.1.1.0
		node del dev "$dev"
	done
	node add dev all
	lab box.py leaf:
	coll "routed leaf: all four ports" 4 10.255.0.1
	check "a port has the name of its device" port_renamed p4 q4
	check "a port that goes is in the list no more" port_goes q4
	node del dev all
	inc_topology_destroy
}

# h3 has a routed port; h4 is behind h2, which routes
mixed() {
	local dev

	box 4 <<-END
	link add br0 address $(mac 254) type bridge
	link set br0 up
	addr add 10.7.0.254/24 dev br0
	addr add fd00:7::fe/64 dev br0 nodad
	link set p1 master br0
	link set p2 master br0
	addr add 10.8.0.254/24 dev p3
	addr add fd00:8::fe/64 dev p3 nodad
	route add 10.9.0.0/24 via 10.7.0.2
	route add fd00:9::/64 via fd00:7::2
	END
	set_up ip -n sw link del p4
	set_up ip -n h2 link add eth1 type veth peer name eth0 netns h4
	host 1 "addr add 10.7.0.1/24 dev eth0" "addr add fd00:7::1/64 dev eth0 nodad"
	host 2 "addr add 10.7.0.2/24 dev eth0" "addr add fd00:7::2/64 dev eth0 nodad" \
		"link set eth1 up" \
		"addr add 10.9.0.254/24 dev eth1" "addr add fd00:9::fe/64 dev eth1 nodad"
	host 3 "addr add 10.8.0.1/24 dev eth0" "addr add fd00:8::1/64 dev eth0 nodad" \
		"route add default via 10.8.0.254" "route add default via fd00:8::fe"
	host 4 "link set eth0 up" "addr add 10.9.0.4/24 dev eth0" \
		"addr add fd00:9::4/64 dev eth0 nodad" \
		"route add default via 10.9.0.254" "route add default via fd00:9::fe"
	set_up forwards h2
	forwarding 2
	for dev in br0 all; do
		node add dev "$dev"
		coll "a bridge, a routed port and a host behind a router, node $dev, IPv4" \
			4 10.7.0.254
		coll "a bridge, a routed port and a host behind a router, node $dev, IPv6" \
			4 fd00:7::fe
		ports "bridge ports and a routed one, node $dev" p1 p2 p3
		node del dev "$dev"
	done
	inc_topology_destroy
}

# Two VLANs of one bridge with an address each. h1, h2: VLAN 10; h3: VLAN 20.
vlan() {
	local vid p

	box 3 <<-END
	link add br0 address $(mac 254) type bridge vlan_filtering 1 vlan_default_pvid 0
	link set br0 up
	link add link br0 name br0.10 type vlan id 10
	link add link br0 name br0.20 type vlan id 20
	link set br0.10 up
	link set br0.20 up
	addr add 10.7.10.254/24 dev br0.10
	addr add 10.7.20.254/24 dev br0.20
	addr add fd00:7:10::fe/64 dev br0.10 nodad
	addr add fd00:7:20::fe/64 dev br0.20 nodad
	link set p1 master br0
	link set p2 master br0
	link set p3 master br0
	END
	for p in p1:10 p2:10 p3:20; do
		vid=${p#*:}
		set_up bridge -n sw vlan add dev "${p%:*}" vid "$vid" pvid untagged
		set_up bridge -n sw vlan add dev br0 vid "$vid" self
	done
	host 1 "addr add 10.7.10.1/24 dev eth0" "addr add fd00:7:10::1/64 dev eth0 nodad"
	host 2 "addr add 10.7.10.2/24 dev eth0" "addr add fd00:7:10::2/64 dev eth0 nodad"
	host 3 "addr add 10.7.20.3/24 dev eth0" "addr add fd00:7:20::3/64 dev eth0 nodad"
	forwarding 3
	node add dev br0.10
	coll "a VLAN device of a bridge, IPv4" 2 10.7.10.254
	coll "a VLAN device of a bridge, IPv6" 2 fd00:7:10::fe
	ports "its ports are those of the bridge" p1 p2
	node del dev br0.10
	node add dev all
	coll "two VLANs of a bridge, IPv4" 3 10.7.10.254 10.7.10.254 10.7.20.254
	coll "two VLANs of a bridge, IPv6" 3 fd00:7:10::fe fd00:7:10::fe fd00:7:20::fe
	ports "its ports are those of both" p1 p2 p3
	node del dev all
	inc_topology_destroy
}

# A bond is a port as any other, of a bridge or routed.
bond() {
	if ! modprobe bonding max_bonds=0 2>/dev/null; then
		skip "a bond" "this kernel has none"
		return
	fi
	box 2 <<-END
	link add bond0 type bond mode active-backup miimon 100
	link set p1 down
	link set p1 master bond0
	link set bond0 up
	link set p1 up
	link add br0 address $(mac 254) type bridge
	link set br0 up
	addr add 10.7.0.254/24 dev br0
	addr add fd00:7::fe/64 dev br0 nodad
	link set bond0 master br0
	link set p2 master br0
	END
	host 1 "addr add 10.7.0.1/24 dev eth0" "addr add fd00:7::1/64 dev eth0 nodad"
	host 2 "addr add 10.7.0.2/24 dev eth0" "addr add fd00:7::2/64 dev eth0 nodad"
	forwarding 2
	node add dev all
	coll "a bond that is a port of a bridge, IPv4" 2 10.7.0.254
	coll "a bond that is a port of a bridge, IPv6" 2 fd00:7::fe
	ports "it is one port" bond0 p2
	set_up ip -n sw link set bond0 nomaster
	set_up ip -n sw addr add 10.8.0.254/24 dev bond0
	host 1 "addr add 10.8.0.1/24 dev eth0" "addr del 10.7.0.1/24 dev eth0" \
		"route add default via 10.8.0.254"
	host 2 "route add default via 10.7.0.254"
	coll "a routed bond" 2 10.8.0.254 10.7.0.254
	node del dev all
	inc_topology_destroy
}

# h1, h3: VRF a; h2, h4: VRF b. Both VRFs have the same addresses.
two_vrfs() {
	local h v

	box 4 < <(
		for v in a b; do
			cat <<-END
			link add vrf$v type vrf table $((16#$v))
			link set vrf$v up
			link add br$v address $(mac 254) type bridge
			link set br$v master vrf$v up
			addr add 10.7.0.254/24 dev br$v
			addr add fd00:7::fe/64 dev br$v nodad
			END
		done
		printf 'link set p%s master br%s\n' 1 a 3 a 2 b 4 b
	)
	for h in 1 2 3 4; do
		host "$h" "addr add 10.7.0.$(((h + 1) / 2))/24 dev eth0" \
			"addr add fd00:7::$(((h + 1) / 2))/64 dev eth0 nodad"
	done
	forwarding 4
	node add dev all
	lab box.py vrf:
	node del dev all
	node add dev vrfa
	node add dev vrfb
	lab box.py overlap:
	node del dev vrfa
	node del dev vrfb
	inc_topology_destroy
}

# Hosts that are nodes themselves: where a group goes that has lost its node.
fallback() {
	local h

	inc_topology_create 3
	node set dev br0 fallback edge
	for h in 1 2 3; do
		set_up inc -n "h$h" node add dev all
	done
	check "a group falls back to a host that is a node" falls_back
	inc_topology_destroy
}

falls_back() {
	local before

	before=$(counter sw blocks)
	start_ranks 3 inc-coll --quiet --seed "$SEED" --ops 1000 --max 10000
	wait_for 60 blocks_done $((before + 10)) && inc -n sw node del dev br0 && wait_ranks &&
		expect "moves" "$(counter h1 moves)" -ge 1
}

blocks_done() {
	[ "$(counter sw blocks)" -ge "$1" ]
}

inc_begin
routed_leaf
mixed
vlan
bond
fallback
if has_vrfs; then
	bridge_in_vrf
	two_vrfs
else
	skip "VRFs" "this kernel has none"
fi
inc_end
