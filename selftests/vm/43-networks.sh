#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Networks that people have. In each of them random collectives run, and inc-coll compares every
# element. networks.sh says what is where, and what recipes are; virbr0.sh has guests of libvirt; l1
# is another machine.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/networks.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/virbr0.sh"

# ---- Containers ----------------------------------------------------------------------------------

# What dockerd makes of a machine: h1 and h2 are containers, h3 is another machine.
dockerd() {
	at sw <<-'END'
	[ ! -e /proc/sys/net/bridge ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
	echo 1 >/proc/sys/net/ipv4/ip_forward
	nft -f - <<-'RULES'
		table ip filter {
			chain FORWARD {
				type filter hook forward priority 0; policy drop;
				oifname docker0 ct state related,established accept
				iifname docker0 oifname != docker0 accept
			}
		}
		table ip nat {
			chain POSTROUTING {
				type nat hook postrouting priority 100;
				oifname != docker0 ip saddr 172.17.0.0/16 masquerade
			}
		}
	RULES
	END
	ip_at sw <<-'END'
	link add docker0 type bridge
	addr add 172.17.0.1/16 dev docker0
	link set docker0 up
	link set p1 master docker0
	link set p2 master docker0
	addr add 10.9.0.254/24 dev p3
	END
	ip_hosts 1 2 container
	ip_at h3 <<<"addr add 10.9.0.3/24 dev eth0"
	forwarding sw 2
}

container() {
	echo "addr add 172.17.0.$(($1 + 1))/16 dev eth0"
	echo "route add default via 172.17.0.1"
}

docker0() {
	cables 3
	dockerd
	at sw <<-'END'
	# recipe: docker0
	inc node add dev all
	# end
	END
	hosts 1 2 <<-'END'
	# recipe: docker0-container
	inc parent set 172.17.0.1
	# end
	END
	at h3 <<-'END'
	# recipe: docker0-outside
	inc parent set 10.9.0.254
	# end
	END
	coll "docker0: two containers" 2
	coll "docker0: two containers and another machine" 3
	if [ "$BRIDGE_NETFILTER" = 1 ]; then
		check "docker0: containers do not reach each other" not meeting
	else
		skip "docker0: containers do not reach each other" "this kernel has no br_netfilter"
	fi
	at sw <<-'END'
	# recipe: docker0-edge
	nft insert rule ip filter FORWARD iifname docker0 oifname docker0 udp dport 5227 accept
	nft insert rule ip filter FORWARD iifname docker0 oifname docker0 udp sport 5227 accept
	# end
	END
	check "docker0: with a rule they meet at the edge" meeting
	at sw <<<"inc node del dev all"
	at h3 <<-'END'
	# recipe: docker0-node-outside
	inc node add dev eth0
	# end
	END
	hosts 1 2 <<<"inc parent set 10.9.0.3"
	coll "docker0: a node beyond its masquerade" 2
	unplug
}

not() {
	! "$@"
}

meeting() {
	INC_PARENT=edge:172.17.0.2 run_ranks 2 inc-coll --quiet --timeout 2000 --seed "$RANDOM" \
		--ops "$OPS"
}

# What the CNI plugin "bridge" makes: hairpin, so that a pod may reach itself by a service.
cni0() {
	cables 2
	ip_at sw <<-'END'
	link add cni0 type bridge
	addr add 10.244.0.1/24 dev cni0
	link set cni0 up
	link set p1 master cni0
	link set p2 master cni0
	link set p1 type bridge_slave hairpin on
	link set p2 type bridge_slave hairpin on
	END
	ip_hosts 1 2 pod
	at sw <<-'END'
	[ ! -e /proc/sys/net/bridge ] || echo 1 >/proc/sys/net/bridge/bridge-nf-call-iptables
	echo 1 >/proc/sys/net/ipv4/ip_forward
	nft -f - <<-'RULES'
		table ip nat {
			chain CNI {
				type nat hook postrouting priority 100;
				ip saddr 10.244.0.0/24 ip daddr != 10.244.0.0/16 masquerade
			}
		}
	RULES
	# recipe: cni0
	inc node add dev cni0
	# end
	END
	hosts 1 2 <<-'END'
	# recipe: cni0-pod
	inc parent set 10.244.0.1
	# end
	END
	forwarding sw 2
	coll "cni0: pods at a bridge with hairpins" 4
	unplug
}

# pod NUMBER: two at each machine, whose subnets are 10.244.0.0/24 and 10.244.1.0/24
pod() {
	local net=10.244.$((($1 - 1) / 2))

	echo "link set eth0 mtu 1450"
	echo "addr add $net.$(($1 + 1))/24 dev eth0"
	echo "route add default via $net.1"
}

# What Calico and the like make: no bridge, a route to each pod.
routed_pods() {
	cables 3
	# a proxy answers for what it has a route to
	ip_at sw <<-'END'
	link add eth0 type dummy
	addr add 192.168.0.1/24 dev eth0
	link set eth0 up
	route add default via 192.168.0.254
	route add 10.244.1.1 dev p1
	route add 10.244.1.2 dev p2
	route add 10.244.1.3 dev p3
	END
	ip_hosts 1 3 routed_pod
	at sw <<-'END'
	cd /proc/sys/net/ipv4
	echo 1 >ip_forward
	for n in 1 2 3; do
		echo 1 >conf/p$n/proxy_arp
		echo 0 >neigh/p$n/proxy_delay
	done
	# recipe: routed-pods
	ip addr add 10.255.0.1/32 dev lo
	inc node add dev all
	# end
	END
	hosts 1 3 <<-'END'
	# recipe: routed-pods-pod
	inc parent set 10.255.0.1
	# end
	END
	coll "routed pods: a route and a veth for each" 3
	unplug
}

routed_pod() {
	echo "addr add 10.244.1.$1/32 dev eth0"
	echo "route add 169.254.1.1 dev eth0"
	echo "route add default via 169.254.1.1"
}

# ---- Overlays ------------------------------------------------------------------------------------

has_vxlan() {
	modprobe vxlan 2>/dev/null
	ip link add vxlanx type vxlan id 99 dstport 4789 && ip link del vxlanx
} 2>/dev/null

# h1 and h2 are pods of sw, h3 and h4 pods of l1.
flannel() {
	cables 4 l1
	set_up cable sw eth0 l1 eth0
	set_up rewire 3 l1
	set_up rewire 4 l1
	flannel_at sw 0 1 1 2
	flannel_at l1 1 0 3 4
	ip_hosts 1 4 pod
	at sw <<-'END'
	# recipe: flannel
	inc node add dev all
	# end
	END
	hosts 1 4 <<<"inc parent set 10.244.0.1"
	coll "flannel: pods of two machines, a node at one" 4 --max 20000
	at l1 <<-'END'
	# recipe: flannel-others
	inc node add dev all parent 10.244.0.0
	# end
	END
	hosts 3 4 <<-'END'
	# recipe: flannel-pod
	inc parent set 10.244.1.1
	# end
	END
	coll "flannel: pods of two machines, a node at each" 4 --max 20000
	check "flannel: the nodes make a tree" expect "blocks at l1" "$(counter l1 blocks)" -ge 1
	unplug
}

# rewire HOST NETNS: its cable leads there
rewire() {
	ip -n sw link set "p$1" netns "$2" && ip -n "$2" link set "p$1" up
}

# flannel_at NETNS SUBNET OTHERS-SUBNET HOST...
flannel_at() {
	ip_at "$1" < <(flannel_batch "${@:2}")
	set_up in_ns "$1" bash -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	set_up bridge -n "$1" fdb add "02:00:00:00:0a:0$3" dev flannel.1 dst "192.168.0.$(($3 + 1))"
}

flannel_batch() {
	echo "addr add 192.168.0.$(($1 + 1))/24 dev eth0"
	echo "link add flannel.1 address 02:00:00:00:0a:0$1 type vxlan id 1 dstport 8472" \
		"local 192.168.0.$(($1 + 1)) dev eth0 nolearning"
	echo "addr add 10.244.$1.0/32 dev flannel.1"
	echo "link set flannel.1 up"
	echo "neigh add 10.244.$2.0 lladdr 02:00:00:00:0a:0$2 dev flannel.1"
	echo "route add 10.244.$2.0/24 via 10.244.$2.0 dev flannel.1 onlink"
	echo "link add cni0 mtu 1450 type bridge"
	echo "addr add 10.244.$1.1/24 dev cni0"
	echo "link set cni0 up"
	printf 'link set p%s mtu 1450 master cni0\n' "${@:3}"
}

# One network over two switches. A bridge that hands what is too long for the tunnel to it answers
# in its place ("fragmentation needed", as INC's packets have DF): nothing is fragmented.
vxlan() {
	cables 4 l1
	set_up cable sw eth0 l1 eth0
	set_up rewire 3 l1
	set_up rewire 4 l1
	vxlan_at sw 1 2 254 1 2
	vxlan_at l1 2 1 253 3 4
	hosts 1 4 <<-'END'
	ip addr add 10.7.0.$n/24 dev eth0
	# recipe: vxlan-host
	ip link set eth0 mtu 1450
	inc parent set 10.7.0.254
	# end
	END
	forwarding sw 3
	forwarding l1 3
	at sw <<<"inc node add dev br0"
	coll "vxlan: a node at one switch" 4 --max 20000
	at l1 <<-'END'
	# recipe: vxlan-node
	inc node add dev br0 parent 10.7.0.254
	# end
	END
	hosts 3 4 <<<"inc parent set 10.7.0.253"
	coll "vxlan: a node at each switch" 4 --max 20000
	longer_link sw
	longer_link l1
	hosts 1 4 <<<"ip link set eth0 mtu 1500"
	coll "vxlan: a link that carries more than hosts send" 4 --max 20000
	unplug
}

longer_link() {
	at "$1" <<-'END'
	# recipe: vxlan-longer
	ip link set eth0 mtu 1550
	ip link set vxlan10 mtu 1500
	# end
	END
}

# vxlan_at NETNS HERE THERE ADDRESS HOST...
vxlan_at() {
	here=$2 there=$3 nr=$4 ports="${*:5}" at "$1" <<-'END'
	ip addr add 192.168.0.$here/24 dev eth0
	# recipe: vxlan
	ip link add vxlan10 type vxlan id 10 dstport 4789 dev eth0 remote 192.168.0.$there
	ip link set vxlan10 up
	ip link add br0 type bridge
	ip addr add 10.7.0.$nr/24 dev br0
	ip link set br0 up
	ip link set vxlan10 master br0
	# end
	for n in $ports; do ip link set p$n master br0; done
	END
}

# ---- Switches ------------------------------------------------------------------------------------

# Two switches with two cables between them, one of which STP does not use.
stp() {
	cables 2 l1
	set_up cable sw x1 l1 x1
	set_up cable sw x2 l1 x2
	set_up rewire 2 l1
	at sw <<-'END'
	# recipe: stp
	ip link add br0 type bridge stp_state 1 priority 4096 forward_delay 200 hello_time 100 max_age 600
	ip addr add 10.7.0.254/24 dev br0
	ip link set br0 up
	for port in p1 x1 x2; do ip link set $port master br0; done
	inc node add dev br0
	# end
	END
	at l1 <<-'END'
	# recipe: stp-other
	ip link add br0 type bridge stp_state 1 forward_delay 200 hello_time 100 max_age 600
	ip link set br0 up
	for port in p2 x1 x2; do ip link set $port master br0; done
	# end
	END
	hosts 1 2 <<-'END'
	ip addr add 10.7.0.$n/24 dev eth0
	inc parent set 10.7.0.254
	END
	coll "stp: ranks join while ports are learning" 2
	at sw <<-'END'
	# recipe: stp-dead
	inc node set dev br0 dead 40000
	# end
	END
	check "stp: a cable is lost in a job, which goes on by the other one" other_way \
		"ip -n sw link set x1 down"
	unplug
}

# other_way COMMAND: it has packets of host 2 come by another port of the node's bridge while a job
# of two ranks runs, which goes on
other_way() {
	local blocks rebinds

	blocks=$(counter sw blocks) rebinds=$(counter sw rebinds)
	start_ranks 2 inc-coll --quiet --seed "$RANDOM" --ops 600 --late 20
	wait_for 60 more_blocks "$blocks" && eval "$1" && blocks=$(counter sw blocks) &&
		wait_for 60 more_blocks "$blocks" &&
		expect "members that have come by another port" "$(counter sw rebinds)" -gt "$rebinds" &&
		wait_ranks
}

# The node, h4, is a machine beside the switch, which knows nothing of INC.
stick() {
	cables 4
	at sw <<-'END'
	ip link add br0 type bridge
	ip link set br0 up
	for n in 1 2 3 4; do ip link set p$n master br0; done
	# recipe: stick-switch
	ip link set br0 type bridge mcast_snooping 1 mcast_querier 1
	# end
	END
	at h4 <<-'END'
	# recipe: stick
	ip addr add 10.7.0.254/24 dev eth0
	inc node add dev eth0 multicast 239.77.0.0/16
	# end
	END
	hosts 1 3 <<-'END'
	ip addr add 10.7.0.$n/24 dev eth0
	# recipe: stick-host
	inc parent set 10.7.0.254
	# end
	END
	forwarding sw 4
	coll "stick: a node beside the switch" 3 --ops 60 --max 5000
	check "stick: results go by multicast" expect "packets by multicast" \
		"$(counter h4 multicast)" -ge 20
	unplug
}

# Each host has two cables to the switch, of which one is in use.
bond() {
	cables 2
	set_up cable sw q1 h1 eth1
	set_up cable sw q2 h2 eth1
	at sw <<-'END'
	# recipe: bond
	ip link add br0 type bridge
	ip addr add 10.7.0.254/24 dev br0
	ip link set br0 up
	for port in p1 q1 p2 q2; do ip link set $port master br0; done
	inc node add dev br0
	# end
	END
	hosts 1 2 <<-'END'
	# recipe: bond-host
	ip link add bond0 type bond mode active-backup miimon 100
	for dev in eth0 eth1; do ip link set $dev down && ip link set $dev master bond0; done
	ip link set bond0 up
	ip addr add 10.7.0.$n/24 dev bond0
	inc parent set 10.7.0.254
	# end
	END
	forwarding sw 4
	coll "bond: hosts with two cables to the node" 2
	check "bond: a cable is lost in a job, which goes on by the other one" other_way \
		"ip -n sw link set p2 down"
	check "bond: it is there again, and the other one is lost" other_way \
		"ip -n sw link set p2 up && ip -n sw link set q2 down"
	unplug
}

# Each host has a cable to each of two switches, sw and l1.
rails() {
	local h

	cables 4 l1
	for h in 1 2 3 4; do set_up cable l1 "p$h" "h$h" eth1; done
	at sw <<-'END'
	# recipe: rails
	ip link add br0 type bridge
	ip addr add 10.7.0.254/24 dev br0
	ip link set br0 up
	for n in 1 2 3 4; do ip link set p$n master br0; done
	inc node add dev br0 fallback standby standby 10.8.0.254
	# end
	END
	at l1 <<-'END'
	# recipe: rails-other
	ip link add br0 type bridge
	ip addr add 10.8.0.254/24 dev br0
	ip link set br0 up
	for n in 1 2 3 4; do ip link set p$n master br0; done
	inc node add dev br0 fallback standby standby 10.7.0.254
	# end
	END
	hosts 1 4 <<-'END'
	# recipe: rails-host
	ip addr add 10.7.0.$n/24 dev eth0
	ip addr add 10.8.0.$n/24 dev eth1
	# end
	END
	forwarding sw 4
	forwarding l1 4
	# recipe: rails-job
	export INC_STRIPES=2 INC_PARENT=10.7.0.254,10.8.0.254
	# end
	coll "rails: hosts with two cables, each to a switch of its own" 4 --max 20000
	check "rails: both switches have had their half" halves_reduced
	unset INC_STRIPES INC_PARENT
	unplug
}

halves_reduced() {
	local sw l1

	sw=$(counter sw blocks) l1=$(counter l1 blocks)
	run_ranks 4 inc-allreduce --type i32 --count 100000 --iters 2 &&
		expect "blocks at sw" $(($(counter sw blocks) - sw)) -gt 200 &&
		expect "blocks at l1" $(($(counter l1 blocks) - l1)) -gt 200
}

# h1, h2: behind the switch l1 of somebody else
plain_switch() {
	cables 3 l1
	set_up rewire 1 l1
	set_up rewire 2 l1
	set_up cable sw x1 l1 x1
	at l1 <<-'END'
	ip link add br0 type bridge
	ip link set br0 up
	for port in p1 p2 x1; do ip link set $port master br0; done
	END
	at sw <<-'END'
	# recipe: plain-switch
	ip link add br0 type bridge
	ip addr add 10.7.0.254/24 dev br0
	ip link set br0 up
	for port in p3 x1; do ip link set $port master br0; done
	inc node add dev br0
	# end
	END
	hosts 1 3 <<-'END'
	# recipe: plain-switch-host
	ip addr add 10.7.0.$n/24 dev eth0
	inc parent set 10.7.0.254
	# end
	END
	forwarding sw 2
	forwarding l1 3
	coll "plain switch: two hosts behind it, one at the node" 3
	# it carries less than hosts believe
	at l1 <<<"ip link set x1 mtu 1400"
	check "plain switch: a link that carries less than hosts believe is named" path_named
	hosts 1 3 <<-'END'
	# recipe: plain-switch-mtu
	ip route replace 10.7.0.0/24 dev eth0 mtu 1400
	# end
	END
	coll "plain switch: hosts that know what it carries" 3
	unplug
}

path_named() {
	! run_ranks 3 inc-coll --quiet --timeout 20000 --seed "$RANDOM" --ops 200 --max 20000 &&
		grep -h "no blocks get through" "$INC_TMP"/rank*.log
}

# Hosts of 600, 1500 and 9000 bytes at a bridge that carries all of them.
mixed_mtu() {
	cables 3
	set_up no_dad
	at sw <<-'END'
	# recipe: mixed-mtu
	ip link add br0 type bridge
	ip addr add 10.7.0.254/24 dev br0
	ip addr add fd00:7::fe/64 dev br0
	ip link set br0 up
	for n in 1 2 3; do ip link set p$n mtu 9000 master br0; done
	ip link set br0 mtu 9000
	inc node add dev br0
	# end
	END
	hosts 1 3 <<-'END'
	mtu=$((n == 1 ? 600 : n == 2 ? 1500 : 9000))
	# recipe: mixed-mtu-host
	ip link set eth0 mtu $mtu
	ip addr add 10.7.0.$n/24 dev eth0
	inc parent set 10.7.0.254
	# end
	END
	hosts 2 3 <<-'END'
	ip addr add fd00:7::$n/64 dev eth0
	END
	forwarding sw 3
	coll "mixed MTUs: 600, 1500 and 9000, IPv4" 3
	at h1 <<<"ip link set eth0 mtu 1280 && ip addr add fd00:7::1/64 dev eth0"
	coll "mixed MTUs: 1280, 1500 and 9000, IPv6" 3 --parent fd00:7::fe
	unplug
}

# ---- Addresses -----------------------------------------------------------------------------------

ipv6_only() {
	cables 2
	set_up no_dad
	at sw <<-'END'
	# recipe: ipv6
	ip link add br0 type bridge
	ip addr add fd00:7::fe/64 dev br0
	ip addr add fe80::fe/64 dev br0
	ip link set br0 up
	for n in 1 2; do ip link set p$n master br0; done
	inc node add dev br0
	# end
	END
	forwarding sw 2
	set_up wait_for 20 none_tentative
	hosts 1 2 <<-'END'
	# recipe: ipv6-link-local
	inc parent set fe80::fe%eth0
	# end
	END
	coll "IPv6: a link-local parent, and no other addresses" 4
	hosts 1 2 <<-'END'
	# recipe: ipv6-host
	ip addr add fd00:7::$n/64 dev eth0
	inc parent set fd00:7::fe
	# end
	END
	coll "IPv6: nothing else" 4
	check "IPv6: there is no address of IPv4" no_ipv4
	unplug
}

# The links were up before there was no duplicate address detection.
none_tentative() {
	local ns

	for ns in sw h1 h2; do
		[ -z "$(ip -n "$ns" -6 -o addr show tentative)" ] || return
	done
}

no_ipv4() {
	local ns

	for ns in sw h1 h2; do
		expect "addresses at $ns" "$(ip -n "$ns" -4 -o addr show scope global)" = "" || return
	done
}

# sw is its own h3
switch_as_rank() {
	cables 2
	at sw <<-'END'
	# recipe: switch-rank
	ip link add br0 type bridge
	ip addr add 10.7.0.254/24 dev br0
	ip link set br0 up
	for n in 1 2; do ip link set p$n master br0; done
	inc node add dev all
	inc parent set 10.7.0.254
	# end
	END
	hosts 1 2 <<-'END'
	ip addr add 10.7.0.$n/24 dev eth0
	inc parent set 10.7.0.254
	END
	forwarding sw 2
	set_up ip netns add h3
	set_up umount /run/netns/h3
	set_up mount --bind /run/netns/sw /run/netns/h3
	INC_HOSTS=3
	coll "the switch is a rank itself" 3
	unplug
}

# ---- One device, many addresses ------------------------------------------------------------------

# h1 and h2 are containers of the machine l1, h3 is another machine; br0 of sw has both.
many_behind() {
	cables 3 l1
	set_up ip -n h1 link del eth0
	set_up ip -n h2 link del eth0
	set_up cable sw p1 l1 eth0
	at sw <<-'END'
	# recipe: macvlan
	ip link add br0 type bridge
	ip addr add 10.7.0.254/24 dev br0
	ip link set br0 up
	for port in p1 p3; do ip link set $port master br0; done
	inc node add dev br0
	# end
	END
	at h3 <<-'END'
	ip addr add 10.7.0.3/24 dev eth0
	inc parent set 10.7.0.254
	END
	forwarding sw 2
}

# What is in it goes, the containers stay.
containers_empty() {
	set_up ip -n h1 link del eth0
	set_up ip -n h2 link del eth0
}

macvlan() {
	at l1 <<-'END'
	# recipe: macvlan-machine
	for n in 1 2; do
		ip link add link eth0 name mv$n type macvlan mode bridge
		ip link set mv$n netns h$n name eth0
	done
	# end
	END
	hosts 1 2 <<-'END'
	# recipe: macvlan-container
	ip addr add 10.7.0.$n/24 dev eth0
	ip link set eth0 up
	inc parent set 10.7.0.254
	# end
	END
	coll "macvlan: two containers of a machine, and another one" 3
	containers_empty
}

ipvlan_l2() {
	at l1 <<-'END'
	# recipe: ipvlan-l2
	for n in 1 2; do
		ip link add link eth0 name iv$n type ipvlan mode l2
		ip link set iv$n netns h$n name eth0
	done
	# end
	END
	# other addresses: the switch remembers whose the last ones were
	hosts 1 2 <<-'END'
	ip addr add 10.7.0.$((n + 10))/24 dev eth0
	ip link set eth0 up
	END
	coll "ipvlan l2: two containers of a machine, and another one" 3
	containers_empty
}

ipvlan_l3() {
	at sw <<-'END'
	# recipe: ipvlan-l3
	ip route add 10.8.0.0/24 via 10.7.0.1
	# end
	ip neigh flush dev br0
	END
	at l1 <<-'END'
	# recipe: ipvlan-l3-machine
	ip addr add 10.7.0.1/24 dev eth0
	for n in 1 2; do
		ip link add link eth0 name iv$n type ipvlan mode l3
		ip link set iv$n netns h$n name eth0
	done
	# end
	END
	hosts 1 2 <<-'END'
	# recipe: ipvlan-l3-container
	ip addr add 10.8.0.$n/32 dev eth0
	ip link set eth0 up
	ip route add default dev eth0
	inc parent set 10.7.0.254
	# end
	END
	coll "ipvlan l3: two containers of a machine, and another one" 3
	containers_empty
}

inc_begin
BRIDGE_NETFILTER=0 UNLOAD=0
[ -e /sys/module/br_netfilter ] || UNLOAD=1
modprobe br_netfilter 2>/dev/null && BRIDGE_NETFILTER=1
docker0
cni0
[ "$BRIDGE_NETFILTER$UNLOAD" != 11 ] || set_up rmmod br_netfilter
routed_pods
of tun virbr0
of vxlan flannel vxlan
stp
stick
of bond bond
rails
plain_switch
mixed_mtu
ipv6_only
switch_as_rank
many_behind
of macvlan macvlan
of ipvlan ipvlan_l2 ipvlan_l3
inc_end
