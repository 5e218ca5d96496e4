#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# parent_names.sh INC NODE DIRECTORY NAME: in namespaces of its own, where these names have the
# addresses below and NODE answers at one of them, prints who was asked, then what `inc parent set
# NAME` says.
set -eu
inc=$1 node=$2 dir=$3 name=$4

printf '%s\n' "127.0.0.2 two.example" "::1 two.example" "127.0.0.3 dead.example" \
	"127.0.0.4 dead.example" "127.0.0.5 one.example" >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts
ip link set lo up
rm -f "$dir/ready"
mkfifo "$dir/ready"
python3 "$node" "$dir/ready" ::1 127.0.0.2 &
pid=$!
read -r _ <"$dir/ready"
"$inc" parent set "$name" 2>"$dir/said" || true
kill "$pid"
wait "$pid" 2>/dev/null || true
cat "$dir/said"
