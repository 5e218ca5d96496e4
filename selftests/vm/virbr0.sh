# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For 43-networks.sh: guests of libvirt at its network "default", whose cards are those of virtio.py
# and leave more or less of the work to the machine.

# What libvirtd makes of a machine for its network "default", and firewalld for its zone "libvirt":
# h1 and h2 are guests, h3 is another machine.
libvirtd() {
	REJECT=drop
	! has_reject || REJECT=reject
	export REJECT
	at sw <<-'END'
	echo 1 >/proc/sys/net/ipv4/ip_forward
	nft -f - <<-RULES
		table ip libvirt_network {
			chain forward {
				type filter hook forward priority 0; policy accept;
				jump guest_cross
				jump guest_input
				jump guest_output
			}
			chain guest_cross {
				iifname virbr0 oifname virbr0 accept
			}
			chain guest_input {
				oifname virbr0 ip daddr 192.168.122.0/24 ct state established,related accept
				oifname virbr0 $REJECT
			}
			chain guest_output {
				iifname virbr0 ip saddr 192.168.122.0/24 accept
				iifname virbr0 $REJECT
			}
			chain guest_nat {
				type nat hook postrouting priority 100; policy accept;
				ip saddr 192.168.122.0/24 ip daddr 224.0.0.0/24 return
				ip saddr 192.168.122.0/24 ip daddr 255.255.255.255 return
				meta l4proto tcp ip saddr 192.168.122.0/24 ip daddr != 192.168.122.0/24 masquerade to :1024-65535
				meta l4proto udp ip saddr 192.168.122.0/24 ip daddr != 192.168.122.0/24 masquerade to :1024-65535
				ip saddr 192.168.122.0/24 ip daddr != 192.168.122.0/24 masquerade
			}
		}
		table inet firewalld {
			chain input {
				type filter hook input priority 10; policy accept;
				iifname virbr0 meta l4proto icmp accept
				iifname virbr0 meta l4proto ipv6-icmp accept
				iifname virbr0 udp dport { 53, 67, 69, 547 } accept
				iifname virbr0 tcp dport { 22, 53 } accept
				iifname virbr0 $REJECT
			}
		}
	RULES
	END
	ip_at sw <<-'END'
	link del p1
	link del p2
	link add virbr0 address 52:54:00:00:07:fe type bridge stp_state 1 forward_delay 200
	addr add 192.168.122.1/24 dev virbr0
	link set virbr0 up
	addr add 10.9.0.254/24 dev p3
	END
	ip_at h3 <<-'END'
	addr add 10.9.0.3/24 dev eth0
	route add 192.168.122.0/24 via 10.9.0.254
	END
}

# Not every kernel has it.
has_reject() {
	in_ns sw nft add table ip x &&
		in_ns sw nft add chain ip x y '{ type filter hook forward priority 0; }' &&
		in_ns sw nft add rule ip x y iifname none reject
	in_ns sw nft list chain ip x y | grep -q reject
	set -- "$?"
	in_ns sw nft delete table ip x
	return "$1"
} 2>/dev/null

has_tun() {
	modprobe tun 2>/dev/null
	[ -c /dev/net/tun ]
}

# guests_start OFFLOADS: h1 and h2, see virtio.py
guests_start() {
	: >"$INC_TMP/cards"
	exec {CARDS}> >(exec python3 -B -s -S "$(dirname "$0")/virtio.py" "$1" sw 1 2 \
		>"$INC_TMP/cards" 2>&1)
	CARDS_PID=$!
	wait_for 60 grep -q '^ready' "$INC_TMP/cards" || { cat "$INC_TMP/cards"; return 1; }
	printf 'link set vnet%s master virbr0 up\n' 1 2 | ip -n sw -batch - || return
	for n in 1 2; do
		guest "$n" | ip -n "h$n" -batch - || return
	done
	wait_for 60 all_forward sw 2
}

guest() {
	echo "addr add 192.168.122.$(($1 + 10))/24 dev eth0"
	echo "link set eth0 up"
	echo "route add default via 192.168.122.1"
}

guests_stop() {
	exec {CARDS}>&-
	wait "$CARDS_PID" || cat "$INC_TMP/cards"
}

# cards_counted NAME: frames, unsummed, tcp or udp
cards_counted() {
	sed -n "s/^$1 //p" "$INC_TMP/counts"
}

count_cards() {
	rm -f "$INC_TMP/counts"
	echo "$INC_TMP/counts" >&"$CARDS"
	wait_for 20 test -e "$INC_TMP/counts"
}

all_complete() {
	count_cards && expect "frames" "$(cards_counted frames)" -gt 100 &&
		expect "frames without a checksum" "$(cards_counted unsummed)" = 0 &&
		expect "super-packets" "$(cards_counted udp)" = 0
}

# Blocks come in super-packets where a card says that it cuts them.
left_to_cards() {
	local udp=0

	count_cards && expect "frames without a checksum" "$(cards_counted unsummed)" -gt 100 || return
	if grep -q udp "$INC_TMP/cards"; then udp=1; fi
	expect "whether there are super-packets" "$(($(cards_counted udp) > 0))" = "$udp"
}

virbr0() {
	cables 3
	libvirtd
	set_up guests_start none
	at sw <<-'END'
	# recipe: virbr0
	inc node add dev all
	# end
	END
	hosts 1 2 <<-'END'
	# recipe: virbr0-guest
	inc parent set 192.168.122.1
	# end
	END
	at h3 <<-'END'
	# recipe: virbr0-outside
	inc parent set 10.9.0.254
	# end
	END
	coll "virbr0: two guests" 2
	coll "virbr0: two guests and another machine" 3
	check "virbr0: cards without offloads have sent complete packets" all_complete
	guests_stop
	set_up guests_start tcp
	coll "virbr0: cards that make checksums" 3
	check "virbr0: checksums have been left to the cards" left_to_cards
	guests_stop
	set_up guests_start udp
	coll "virbr0: cards that also cut super-packets" 3
	check "virbr0: what a card can do has been left to it" left_to_cards
	check "virbr0: guests meet at the edge" guests_meet 2
	check "virbr0: another machine does not meet them there" outside_rejected
	at sw <<<"inc node del dev all"
	at h3 <<-'END'
	# recipe: virbr0-node-outside
	inc node add dev eth0
	# end
	END
	hosts 1 2 <<<"inc parent set 10.9.0.3"
	coll "virbr0: a node beyond its masquerade" 2
	guests_stop
	unplug
}

# guests_meet RANKS: at rank 0's guest
guests_meet() {
	INC_PARENT=edge:192.168.122.11 run_ranks "$1" inc-coll --quiet --timeout 4000 \
		--seed "$RANDOM" --ops "$OPS"
}

outside_rejected() {
	! guests_meet 3 && grep "rank 0 has not joined there, or it does not answer" "$(rank_log 2)"
}
