# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The dissector for Wireshark, on packets that the engine has made. To be sourced by run, whose
# result, skip and wanted it uses, and its $tmp and $top.

# shellcheck disable=SC2154

# The dissector where users put it, and a capture with what is in it.
wireshark_begin()
{
	local plugins=$tmp/wireshark/.local/lib/wireshark/plugins

	mkdir -p "$plugins" && cp "$top/tools/wireshark/inc.lua" "$plugins/" || return
	"${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -I"$top/kernel" -I"$top/uapi" \
		-o "$tmp/wireshark_packets" "$here"/wireshark_{packets,bodies,capture}.c \
		"$top/kernel/engine/wire.c" &&
		"$tmp/wireshark_packets" "$tmp/packets.pcap" >"$tmp/packets.txt" &&
		chmod a+x "$tmp" && chmod -R a+rX "$tmp/wireshark" "$tmp/packets.pcap"
}

wireshark_results()
{
	local line ended=0

	while IFS= read -r line; do
		case $line in
		"ok - "*) result 0 "${line#ok - }" ;;
		"not ok - "*) result 1 "${line#not ok - }" ;;
		end) ended=1 ;;
		*) echo "# ${line#\# }" ;;
		esac
	done < <(HOME=$tmp/wireshark XDG_CONFIG_HOME='' python3 "$here/wireshark.py" \
		"$tmp/packets.pcap" "$tmp/packets.txt" 2>&1)
	[ "$ended" = 1 ]
	result $? "wireshark: the tests came to their end"
}

wireshark()
{
	local made

	wanted "wireshark" || return
	if ! command -v tshark "${CC:-cc}" >/dev/null; then
		skip "wireshark" "tshark or a compiler is missing: tools/deps wireshark"
		return
	fi
	if [ ! -e "$top/kernel/engine/wire.c" ]; then
		skip "wireshark" "the sources are not here"
		return
	fi
	wireshark_begin >"$tmp/log" 2>&1
	made=$?
	result $made "wireshark: a capture is made"
	sed 's/^/# /' "$tmp/log"
	[ $made != 0 ] || wireshark_results
}
