#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Hosts that let in only what answers them, and ranks behind address translation: a node's answers
# go to where a rank's packets come from.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"

# What comes to a host by eth0 is dropped unless its connection tracking knows it, but for neighbour
# discovery.
closed_host() {
	in_ns "$1" nft -f - <<-'END'
		table inet fw {
			chain in {
				type filter hook input priority 0; policy drop;
				iif lo accept
				meta l4proto ipv6-icmp accept
				ct state established,related accept
				counter name "refused"
			}
			counter refused { }
		}
	END
}

open_host() {
	in_ns "$1" nft delete table inet fw
}

close_all() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		closed_host "h$h" || return
	done
}

# refused HOST OPERATOR WANTED: packets that its rules have dropped
refused() {
	local counter

	counter=$(in_ns "$1" nft list counter inet fw refused | sed -n 's/.*packets \([0-9]*\).*/\1/p')
	expect "packets refused at $1" "$counter" "$2" "$3"
}

# Nothing of the job is refused, and what nobody has asked for is.
behind_firewalls() {
	local h

	run_ranks "$INC_HOSTS" inc-coll --quiet --seed "$SEED" --ops 60 --max 20000 "$@" || return
	for ((h = 1; h <= INC_HOSTS; h++)); do
		refused "h$h" -eq 0 || return
	done
}

# The node reaches a closed host with nothing that this has not asked for: the rules do what they
# say.
rules_work() {
	in_ns sw bash -c 'echo x >/dev/udp/10.7.0.1/5227' && wait_for 10 refused h1 -eq 1
}

# behind HOST NUMBER: host NUMBER in a network of its own behind HOST, which translates its
# addresses
behind() {
	local via=$1 nr=$2 net=10.6.$2

	ip netns add "h$nr" && ip link add eth0 netns "h$nr" type veth peer name "in$nr" netns \
		"$via" &&
		ip -n "$via" addr add "$net.1/24" dev "in$nr" &&
		ip -n "$via" link set "in$nr" up || return
	printf '%s\n' "link set lo up" "addr add $net.2/24 dev eth0" "link set eth0 up" \
		"route add default via $net.1" |
		ip -n "h$nr" -batch - || return
	in_ns "$via" bash -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' &&
		inc -n "h$nr" parent set "$INC_NODE4"
}

# translate HOST [PORTS]: to its own address, and to one of these ports
translate() {
	in_ns "$1" nft -f - <<-END
		table ip nat {
			chain out {
				type nat hook postrouting priority 100;
				oif eth0 ip saddr 10.6.0.0/16 udp dport 5227 counter masquerade ${2:+to :$2}
			}
		}
	END
}

# Two ranks are behind one address, and send from one port: one of them gets another on the way.
translated() {
	behind h1 5 && behind h1 6 && translate h1 || return
	INC_HOSTS=6
	run_ranks 6 inc-coll --quiet --seed "$SEED" --ops 60 --max 20000 &&
		expect "connections that were translated" \
			"$(in_ns h1 nft list table ip nat | sed -n 's/.*counter packets \([0-9]*\).*/\1/p')" -ge 2
}

# In mid-job the cable is pulled, with which translations go; when it is back, others are made, to
# other ports. Both ranks show who they are, and stay.
translated_anew() {
	local blocks rebinds

	blocks=$(counter sw blocks) rebinds=$(counter sw rebinds)
	start_ranks 6 inc-coll --quiet --seed "$SEED" --ops 500 --late 20
	wait_for 60 more_blocks "$blocks" && in_ns h1 nft delete table ip nat &&
		translate h1 41000-41999 && ip -n h1 link set eth0 down &&
		ip -n h1 link set eth0 up && blocks=$(counter sw blocks) &&
		wait_for 60 more_blocks "$blocks" &&
		expect "ranks that have come by other ports" "$(counter sw rebinds)" -ge $((rebinds + 2)) &&
		wait_ranks
}

# ping_rule HOST HOOK STATEMENT: it does this with questions of inc ping
ping_rule() {
	in_ns "$1" nft -f - <<-END
		table inet ping {
			chain at { type filter hook $2 priority 0; udp dport 5227 $3; }
		}
	END
}

# pinged_there ADDRESS LAST: what two questions of host 1 meet; there is a summary in any case
pinged_there() {
	expect "what is said of $1" \
		"$(inc -n h1 -j ping "$1" count 2 interval 1500 timeout 1000 | grep -o '"sent":2,"answered":0,"last":"[a-z-]*"')" = \
		"\"sent\":2,\"answered\":0,\"last\":\"$2\""
}

# ping_meets ADDRESS LAST HOST HOOK STATEMENT
ping_meets() {
	local ret=0

	ping_rule "${@:3}" || return
	pinged_there "$1" "$2" || ret=1
	in_ns "$3" nft delete table inet ping && return "$ret"
}

# The switch routes on, but not to there, and says so once in a second at most.
no_way_routes() {
	in_ns sw bash \
		-c \
		'cd /proc/sys/net && echo 1 >ipv4/ip_forward && echo 1 >ipv6/conf/all/forwarding &&
			echo 0 >ipv4/icmp_ratelimit && echo 0 >ipv6/icmp/ratelimit' &&
		ip -n h1 route add 10.9.0.0/16 via "$INC_NODE4" &&
		ip -n h1 route add fd00:9::/32 via "$INC_NODE6" &&
		ip -n sw route add unreachable 10.9.1.0/24 &&
		ip -n sw route add prohibit 10.9.2.0/24 &&
		ip -n sw route add unreachable fd00:9:1::/48 &&
		ip -n sw route add prohibit fd00:9:2::/48
}

ping_told() {
	no_way_routes && pinged_there 10.9.1.1 unreachable && pinged_there 10.9.2.1 prohibited &&
		pinged_there fd00:9:1::1 unreachable &&
		pinged_there fd00:9:2::1 prohibited || return
	ping_meets 10.7.0.2 none h2 input drop && ping_meets 10.7.0.2 prohibited h1 output drop
}

# By another device there is no way to the node.
ping_device() {
	inc -n h1 ping "$INC_NODE4" dev eth0 count 1 &&
		inc -n h1 ping "$INC_NODE6" dev eth0 count 1 || return
	! inc -n h1 ping "$INC_NODE4" dev lo count 1 timeout 500
}

# What the IPsec policy of a host does not let in does not reach its ranks, as it does not reach UDP.
policy_holds() {
	local ret=0

	in_ns h1 ip xfrm policy add dir in src 0.0.0.0/0 dst 0.0.0.0/0 proto udp sport 5227 \
		action block || return
	! in_ns h1 inc-allreduce --group "$INC_GROUP_NR" --rank 0 --size 1 --timeout 1000 ||
		{ echo "the rank has heard its node"; ret=1; }
	expect "packets that the policy has refused" \
		"$(inc -n h1 -j -s stats show | json_sum drop_policy)" -ge 1 || ret=1
	in_ns h1 ip xfrm policy flush && return "$ret"
}

ipsec_policy() {
	if in_ns h1 ip xfrm policy list >/dev/null 2>&1; then
		check "$@"
	else
		skip "$1" "this kernel has no IPsec policies"
	fi
}

inc_begin
inc_topology_create 4
modprobe -a nft_ct nft_masq nft_chain_nat 2>/dev/null
check "ping says what stands in the way" ping_told
check "ping asks by the device that is named" ping_device
ipsec_policy "the IPsec policy of a host holds for what comes to its ranks" policy_holds
set_up close_all
check "hosts that let only answers in" behind_firewalls
check "hosts that let only answers in, IPv6" behind_firewalls --parent "$INC_NODE6"
check "what nobody has asked for is not let in" rules_work
for ((h = 1; h <= INC_HOSTS; h++)); do
	set_up open_host "h$h"
done
check "two ranks behind one address" translated
check "they are translated to other ports in a job, which goes on" translated_anew
check "groups are gone" wait_for 30 no_groups
inc_topology_destroy
inc_end
