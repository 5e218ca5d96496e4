# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# `inc metrics`, its answer to HTTP, and its dashboard. To be sourced by run, whose result, skip and
# wanted it uses, and its $tmp and $top.

# shellcheck disable=SC2154

# The command with a kernel that says everything: nl.c is left out.
build_metrics()
{
	local from=$top/userspace/inc

	# shellcheck disable=SC2046
	"${CC:-cc}" -std=gnu11 -Wall -Wextra -Werror -DINC_TOOL_VERSION='"0"' \
		$(pkg-config --cflags libnl-3.0) -I"$from" -I"$top/userspace/libinc" \
		-I"$top/uapi" -o "$tmp/metrics" "$here/metrics.c" \
		"$from"/{metrics,exposition,names,attr,text,print,args,error}.c \
		"$top/userspace/libinc/key.c" $(pkg-config --libs libnl-3.0) &&
		"$tmp/metrics" >"$tmp/metrics.txt" && "$tmp/metrics" -s >"$tmp/metrics-s.txt"
}

metrics_results()
{
	local line ended=0

	while IFS= read -r line; do
		case $line in
		"ok - "*) result 0 "${line#ok - }" ;;
		"not ok - "*) result 1 "${line#not ok - }" ;;
		end) ended=1 ;;
		*) echo "# ${line#\# }" ;;
		esac
	done < <("$with_prometheus" "$here/metrics.py" "$tmp/metrics.txt" "$tmp/metrics-s.txt" \
		"$top/packaging/metrics/dashboard.json" 2>&1)
	[ "$ended" = 1 ]
	result $? "metrics: the tests came to their end"
}

# answered NAME REQUEST WANTED COMMAND...: this is answered, and nothing of the request is left
# unread: that would stand behind the answer
answered()
{
	local name=$1 request=$2 want=$3 got
	shift 3

	# shellcheck disable=SC2059
	got=$(printf "$request" | { "$top/packaging/metrics/answer" "$@"; cat; })
	[ "${got//$'\r'}" = "$want" ]
	result $? "metrics: $name"
	[ "${got//$'\r'}" = "$want" ] || printf '# %s\n' "${got//$'\n'/$'\n# '}"
}

answers_http()
{
	local head=$'Content-Type: text/plain; charset=utf-8\nConnection: close\n\n'
	local open="application/openmetrics-text; version=1.0.0; charset=utf-8"

	answered "GET" 'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' \
		$'HTTP/1.0 200 OK\nContent-Type: '"$open"$'\nConnection: close\n\n'"$(<"$tmp/metrics.txt")" \
		cat "$tmp/metrics.txt"
	answered "GET of something else" 'GET / HTTP/1.1\r\n\r\n' \
		$'HTTP/1.0 404 Not Found\n'"$head"'expected /metrics' true
	answered "what is no request" 'x\r\n\r\n' \
		$'HTTP/1.0 400 Bad Request\n'"$head"'expected GET /metrics HTTP/1.1' true
	answered "a command that fails" 'GET /metrics HTTP/1.0\n\n' \
		$'HTTP/1.0 503 Service Unavailable\n'"$head"'no metrics: see the log of this machine' \
		false
}

# The service may make the sockets that it needs: names of interfaces are asked by one, too.
service_sockets()
{
	local names

	names=$(sed -n 's/^RestrictAddressFamilies=//p' "$top/packaging/metrics/inc-metrics@.service")
	"${CC:-cc}" -Wall -Wextra -Werror -o "$tmp/families" "$here/families.c" || return
	[[ " $names " == *" AF_NETLINK "* ]] || { echo "no AF_NETLINK: $names"; return 1; }
	# what is refused shows
	! "$tmp/families" AF_NETLINK "$tmp/metrics" | diff -q "$tmp/metrics.txt" - >/dev/null &&
		"$tmp/families" "$names" "$tmp/metrics" | diff "$tmp/metrics.txt" -
}

metrics()
{
	local with_prometheus=python3

	wanted "metrics" || return
	python3 -c 'import prometheus_client' 2>/dev/null || with_prometheus=/usr/bin/python3
	if ! command -v "${CC:-cc}" pkg-config >/dev/null ||
	   ! "$with_prometheus" -c 'import prometheus_client' 2>/dev/null; then
		skip "metrics" "a compiler or python3-prometheus-client is missing: tools/deps check"
		return
	fi
	if [ ! -e "$top/packaging/metrics/answer" ]; then
		skip "metrics" "the sources are not here"
		return
	fi
	build_metrics >"$tmp/log" 2>&1
	result $? "metrics: all that a kernel can say is printed"
	sed 's/^/# /' "$tmp/log"
	metrics_results
	service_sockets >"$tmp/log" 2>&1
	result $? "metrics: the service may make the sockets that it needs"
	sed 's/^/# /' "$tmp/log"
	answers_http
}
