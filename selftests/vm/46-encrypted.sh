#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Links that others can listen to. What stands below INC encrypts them hop by hop: a node reduces
# what is in the clear to nobody but it. A counter at both ends of every cable sees each packet before
# anything has decrypted it.

# shellcheck disable=SC1091
. "$(dirname "$0")/lib.sh"
# shellcheck disable=SC1091
. "$(dirname "$0")/networks.sh"

KEYS=$INC_TMP/keys

# ---- Listening -----------------------------------------------------------------------------------

# tap NETNS DEV: packets of INC, and all packets, that come in there by a cable
tap() {
	in_ns "$1" nft -f - <<-END
		table netdev tap_$2 {
			counter plain { }
			counter seen { }
			chain in {
				type filter hook ingress device "$2" priority -500;
				counter name seen
				udp dport 5227 counter name plain
				udp sport 5227 counter name plain
			}
		}
	END
}

tap_all() {
	local h

	for ((h = 1; h <= INC_HOSTS; h++)); do
		tap sw "p$h" && tap "h$h" eth0 || return
	done
}

# taps: a line "NETNS TABLE COUNTER PACKETS" for each counter
taps() {
	local ns

	for ns in sw h1 h2 h3; do
		in_ns "$ns" nft list counters | awk -v ns="$ns" '/^table/ { table = $3 }
			/counter/ { counter = $2 } /packets/ { print ns, table, counter, $2 }' || return
	done
}

# heard VERB N: at both ends of each cable there were packets, of which those of INC in the clear were
# VERB (of test) N, and the node has reduced
heard() {
	local ns table counter packets taps=0

	while read -r ns table counter packets; do
		taps=$((taps + 1))
		if [ "$counter" = seen ]; then
			expect "packets by $table of $ns" "$packets" -gt 20 || return
		else
			expect "in the clear by $table of $ns" "$packets" "$1" "$2" || return
		fi
	done < <(taps)
	expect "counters" "$taps" -eq 12 && expect "blocks of the node" "$(counter sw blocks)" -gt 0
}

# A bridge without ports at the switch; hosts have addresses of their cables.
addresses() {
	ip_at sw <<-'END'
	link add br0 type bridge
	addr add 10.7.0.254/24 dev br0
	link set br0 up
	END
	ip_hosts 1 3 address
	mkdir -p "$KEYS" && cd "$KEYS" || exit
	set_up tap_all
}

address() {
	echo "addr add 10.7.0.$1/24 dev eth0"
}

all_ports() {
	local n

	for n in 1 2 3; do echo "link set p$n master br0"; done | ip_at sw
	forwarding sw 3
}

# What the counters are good for.
in_the_clear() {
	cables 3
	addresses
	all_ports
	at sw <<<"inc node add dev br0"
	hosts 1 3 <<<"inc parent set 10.7.0.254"
	coll "in the clear: three hosts" 3
	check "in the clear: packets are seen on the cables" heard -gt 0
	unplug
}

# ---- MACsec --------------------------------------------------------------------------------------

has_macsec() {
	modprobe macsec 2>/dev/null
	has_device macsec
}

# address_of NETNS DEV
address_of() {
	ip -n "$1" -br link show dev "$2" | awk '{ print $3 }'
}

# A key for each direction of each cable, and the addresses of the switch's ports.
macsec_keys() {
	local n

	for n in 1 2 3; do
		od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"up$n.key" &&
			od -An -N16 -tx1 /dev/urandom | tr -d ' \n' >"down$n.key" &&
			address_of sw "p$n" >"p$n.mac" && address_of "h$n" eth0 >"eth0-$n.mac" || return
	done
}

macsec() {
	cables 3
	addresses
	ip_hosts 1 3 no_address
	set_up macsec_keys
	at sw <<-'END'
	# recipe: macsec-switch
	for n in 1 2 3; do
		ip link add link p$n sec$n type macsec encrypt on
		ip macsec add sec$n tx sa 0 pn 1 on key 01 $(cat down$n.key)
		ip macsec add sec$n rx port 1 address $(cat eth0-$n.mac)
		ip macsec add sec$n rx port 1 address $(cat eth0-$n.mac) sa 0 pn 1 on key 02 $(cat up$n.key)
		ip link set sec$n master br0 up
	done
	inc node add dev br0
	# end
	END
	hosts 1 3 <<-'END'
	# recipe: macsec-host
	ip link add link eth0 sec0 type macsec encrypt on
	ip macsec add sec0 tx sa 0 pn 1 on key 02 $(cat up$n.key)
	ip macsec add sec0 rx port 1 address $(cat p$n.mac)
	ip macsec add sec0 rx port 1 address $(cat p$n.mac) sa 0 pn 1 on key 01 $(cat down$n.key)
	ip addr add 10.7.0.$n/24 dev sec0
	ip link set sec0 up
	inc parent set 10.7.0.254
	# end
	END
	forwarding sw 3
	coll "macsec: three hosts" 3
	check "macsec: nothing is in the clear on the cables" heard -eq 0
	unplug
}

no_address() {
	echo "addr flush dev eth0"
}

# ---- WireGuard -----------------------------------------------------------------------------------

has_wireguard() {
	modprobe wireguard 2>/dev/null
	ip link add wgx type wireguard && ip link del wgx
} 2>/dev/null

wireguard_keys() {
	local who

	for who in sw h1 h2 h3; do
		(umask 077 && wg genkey >"$who.key") && wg pubkey <"$who.key" >"$who.pub" || return
	done
}

wireguard() {
	cables 3
	addresses
	all_ports
	set_up wireguard_keys
	at sw <<-'END'
	# recipe: wireguard-switch
	ip link add wg0 type wireguard
	wg set wg0 listen-port 51820 private-key sw.key
	for n in 1 2 3; do
		wg set wg0 peer $(cat h$n.pub) allowed-ips 10.66.0.$n/32
	done
	ip addr add 10.66.0.254/24 dev wg0
	ip link set wg0 up
	inc node add dev wg0
	# end
	END
	hosts 1 3 <<-'END'
	# recipe: wireguard-host
	ip link add wg0 type wireguard
	wg set wg0 private-key h$n.key peer $(cat sw.pub) endpoint 10.7.0.254:51820 allowed-ips 10.66.0.0/24
	ip addr add 10.66.0.$n/24 dev wg0
	ip link set wg0 up
	inc parent set 10.66.0.254
	# end
	END
	coll "wireguard: three hosts" 3
	check "wireguard: nothing is in the clear on the cables" heard -eq 0
	unplug
}

# ---- IPsec ---------------------------------------------------------------------------------------

has_ipsec() {
	modprobe -a esp4 xfrm_user 2>/dev/null
	ip xfrm state add src 10.7.0.1 dst 10.7.0.2 proto esp spi 0x99 mode transport \
		aead 'rfc4106(gcm(aes))' 0x0123456789012345678901234567890123456789 128 &&
		ip xfrm state flush
} 2>/dev/null

# A key with its salt for each direction between a host and the switch.
ipsec_keys() {
	local n

	for n in 1 2 3; do
		{ echo -n 0x; od -An -N20 -tx1 /dev/urandom | tr -d ' \n'; } >"up$n.key" &&
			{ echo -n 0x; od -An -N20 -tx1 /dev/urandom | tr -d ' \n'; } >"down$n.key" || return
	done
}

ipsec() {
	cables 3
	addresses
	all_ports
	set_up ipsec_keys
	at sw <<-'END'
	# recipe: ipsec-switch
	for n in 1 2 3; do
		host="src 10.7.0.$n dst 10.7.0.254" switch="src 10.7.0.254 dst 10.7.0.$n"
		ip xfrm state add $host proto esp spi 0x10$n mode transport aead 'rfc4106(gcm(aes))' $(cat up$n.key) 128
		ip xfrm state add $switch proto esp spi 0x20$n mode transport aead 'rfc4106(gcm(aes))' $(cat down$n.key) 128
		ip xfrm policy add $host dir in tmpl proto esp mode transport
		ip xfrm policy add $switch dir out tmpl proto esp mode transport
	done
	inc node add dev all
	# end
	END
	hosts 1 3 <<-'END'
	# recipe: ipsec-host
	host="src 10.7.0.$n dst 10.7.0.254" switch="src 10.7.0.254 dst 10.7.0.$n"
	ip xfrm state add $host proto esp spi 0x10$n mode transport aead 'rfc4106(gcm(aes))' $(cat up$n.key) 128
	ip xfrm state add $switch proto esp spi 0x20$n mode transport aead 'rfc4106(gcm(aes))' $(cat down$n.key) 128
	ip xfrm policy add $host dir out tmpl proto esp mode transport
	ip xfrm policy add $switch dir in tmpl proto esp mode transport
	inc parent set 10.7.0.254
	# end
	END
	coll "ipsec: three hosts" 3
	check "ipsec: nothing is in the clear on the cables" heard -eq 0
	unplug
}

inc_begin
in_the_clear
of macsec macsec
of wireguard wireguard
of ipsec ipsec
inc_end
