# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A bare Debian in the directory $root, of the release $suite, made on a machine of the release
# $codename (machine_codename), whose apt and names it has. No service runs in it. To be sourced;
# its functions want root.

# shellcheck disable=SC2154 # suite, root and codename are the caller's

machine_codename() {
	(. /etc/os-release && echo "${VERSION_CODENAME:?}")
}

# Of the machine: names, and where apt gets packages from.
use_network_of_machine() {
	local file
	for file in /etc/resolv.conf /etc/hosts; do
		[ ! -e "$file" ] || cp -L "$file" "$1$file" || return
	done
	rm -rf "$1/etc/apt/sources.list" "$1"/etc/apt/sources.list.d/* &&
		cp -r /etc/apt/sources.list.d "$1/etc/apt/" &&
		mkdir -p "$1/etc/apt/apt.conf.d" &&
		cp -rn /etc/apt/apt.conf.d/. "$1/etc/apt/apt.conf.d/" || return
	[ ! -e /etc/apt/sources.list ] || cp /etc/apt/sources.list "$1/etc/apt/" || return
	find "$1"/etc/apt/sources.list* -type f -exec sed -i "s/\\b$codename\\b/$suite/g" {} +
}

# in_root COMMAND...: as root of the bare system, in namespaces that end with the command. It sees the
# directory $shared, if that is set, under its own path.
in_root() {
	[ -z "${shared-}" ] || mkdir -p "$root$shared" || return
	# shellcheck disable=SC2016 # the inner shell's
	unshare --mount --pid --ipc --uts --fork --kill-child --mount-proc="$root/proc" \
		env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
		DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} \
		${https_proxy:+"https_proxy=$https_proxy"} ROOT="$root" SHARED="${shared-}" \
		sh -c 'mount --rbind /dev "$ROOT/dev" && mount -t sysfs -o ro sysfs "$ROOT/sys" &&
			{ [ -z "$SHARED" ] || mount --bind "$SHARED" "$ROOT$SHARED"; } &&
			exec chroot "$ROOT" "$@"' sh "$@"
}

apt() {
	in_root apt-get -q -y --no-install-recommends "$@"
}

# The bare Debian itself, from MIRROR or debootstrap's own.
bootstrap() {
	debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"} &&
		use_network_of_machine "$root" && apt update
}
