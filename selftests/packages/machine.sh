# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-only
#
# A machine with the packages: its disk is a copy of the bare Debian with what an administrator
# would write, and it starts by Debian's kernel, initramfs and systemd, emulated by QEMU. To be
# sourced by run, whose functions check and expect and whose variables here, top, tmp, root and
# release it uses.

# Its files.
machine=$tmp/machine

# write_file PATH [MODE]: of the machine, from stdin. What is there belongs to the bare Debian, too.
write_file() {
	rm -f "$machine/root/$1" && mkdir -p "$(dirname "$machine/root/$1")" &&
		cat >"$machine/root/$1" && chmod "${2:-0644}" "$machine/root/$1"
}

# enable UNIT TARGET
enable_unit() {
	mkdir -p "$machine/root/etc/systemd/system/$2.wants" &&
		ln -sf "/lib/systemd/system/$1" "$machine/root/etc/systemd/system/$2.wants/$1"
}

# A switch: br0 has the machine's network card, which has a carrier, and no other port yet.
machine_network() {
	write_file etc/systemd/network/br0.netdev <<-END &&
	[NetDev]
	Name=br0
	Kind=bridge
	END
	write_file etc/systemd/network/br0.network <<-END &&
	[Match]
	Name=br0
	[Network]
	Address=10.7.0.254/24
	END
	write_file etc/systemd/network/eth0.network <<-END &&
	[Match]
	Name=eth0
	[Network]
	Bridge=br0
	END
	enable_unit systemd-networkd.service multi-user.target &&
		enable_unit systemd-networkd-wait-online.service network-online.target
}

machine_inc() {
	write_file etc/inc/inc.conf <<-END &&
	# of a switch that is a host of another one
	limits set answers 2000
	tenant replace lab from 10.7.0.0/24 key @/etc/inc/lab.key max-groups 16
	node replace dev br0 fallback edge
	parent set 10.7.0.254
	END
	write_file etc/inc/lab.key 0600 <<<00112233445566778899aabbccddeeff
}

machine_test() {
	write_file usr/local/sbin/in-machine 0755 <"$here/in-machine" &&
		write_file etc/systemd/system/in-machine.service <<-END &&
		[Unit]
		Description=What is tried on this machine
		After=inc.service
		[Service]
		ExecStart=/usr/local/sbin/in-machine
		[Install]
		WantedBy=multi-user.target
		END
		mkdir -p "$machine/root/etc/systemd/system/multi-user.target.wants" &&
		ln -s ../in-machine.service \
			"$machine/root/etc/systemd/system/multi-user.target.wants/"
}

# What Debian does besides when a machine starts, which takes minutes in an emulator, or a network.
without_others() {
	local unit

	for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer \
		e2scrub_reap.service fstrim.timer; do
		ln -sf /dev/null "$machine/root/etc/systemd/system/$unit" || return
	done
}

# An emulator on a busy machine takes longer than services are given.
be_patient() {
	write_file etc/systemd/system.conf.d/emulated.conf <<-END
	[Manager]
	DefaultTimeoutStartSec=15min
	DefaultDeviceTimeoutSec=15min
	END
}

# Of the bare Debian only names are copied, not files.
make_machine() {
	local disk=$machine/disk

	mkdir -p "$machine" && cp -al "$root" "$machine/root" &&
		rm -rf "$machine/root/packages" &&
		write_file etc/fstab <<<"/dev/vda / ext4 defaults 0 1" &&
		write_file etc/hostname <<<switch &&
		machine_network && machine_inc && machine_test && without_others &&
		be_patient &&
		truncate -s 4G "$disk" &&
		mkfs.ext4 -q -F -d "$machine/root" "$disk" &&
		rm -rf --one-file-system "$machine/root" &&
		cp "$root/boot/vmlinuz-$release" "$root/boot/initrd.img-$release" "$machine/"
}

# command_line WHAT [PARAMETER...]: WHAT is to be tried, see in-machine. Of the others the second line
# is for emulators on busy machines, see tools/vm/lib.sh.
command_line() {
	echo "root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=-1 oops=panic" \
		"norandmaps no_timer_check rcupdate.rcu_cpu_stall_timeout=200" \
		"inc_machine=$*"
}

machine_twice() {
	"$here/start-machine" 900 "$machine" -kernel "$machine/vmlinuz-$release" \
		-initrd "$machine/initrd.img-$release" -append "$(command_line twice)"
}

# What a firmware with Secure Boot starts of a disk: shim, which Microsoft has signed, and it GRUB,
# which Debian has signed, and that Debian's kernel.
boot_chain() {
	local esp=$machine/esp signed=$root/usr/local/lib/signed-boot

	rm -rf "$esp" && mkdir -p "$esp/EFI/BOOT" "$esp/EFI/debian" &&
		cp "$signed/usr/lib/shim/shimx64.efi.signed" "$esp/EFI/BOOT/BOOTX64.EFI" &&
		cp "$signed/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" \
			"$esp/EFI/BOOT/grubx64.efi" &&
		cp "$machine/vmlinuz-$release" "$machine/initrd.img-$release" "$esp/" &&
		cat >"$esp/EFI/debian/grub.cfg" <<-END
		serial --unit=0
		terminal_output serial
		linux /vmlinuz-$release $(command_line "$@")
		initrd /initrd.img-$release
		boot
	END
}

# secure_machine WHAT [PARAMETER...]: of the kernel. The firmware's keys are Microsoft's, as those
# of nearly all machines are.
secure_machine() {
	local firmware=/usr/share/OVMF

	boot_chain "$@" && cp "$firmware/OVMF_VARS_4M.ms.fd" "$machine/variables" || return
	[ "$1" = refused ] ||
		"$here/enroll-mok" "$machine/variables" "$root/var/lib/dkms/mok.pub" || return
	"$here/start-machine" 900 "$machine" -machine smm=on -global driver=cfi.pflash01,property=secure,value=on \
		-global ICH9-LPC.disable_s3=1 \
		-drive "if=pflash,format=raw,unit=0,readonly=on,file=$firmware/OVMF_CODE_4M.ms.fd" \
		-drive "if=pflash,format=raw,unit=1,file=$machine/variables" \
		-drive "if=ide,format=raw,file=fat:rw:$machine/esp"
}

machine_refused() {
	secure_machine refused
}

machine_trusted() {
	secure_machine trusted module.sig_enforce=1
}

# said_ok RESULT: in-machine has said so, once; what it has said of it instead
said_ok() {
	[ "$(tr -d '\r' <"$machine/said" | grep -cFx "ok - $1")" = 1 ] ||
		{ tr -d '\r' <"$machine/said" | grep -FA 41 -e "- $1"; return 1; }
}

# machine_results FUNCTION WHEN...: those of this function of in-machine, and nothing else
machine_results() {
	local function=$1 when name names

	shift
	mapfile -t names < <(sed -n "/^$function() {/,/^}/s/^\tcheck \"\([^\"]*\)\".*/\1/p" \
		"$here/in-machine")
	for when in "$@"; do
		for name in "${names[@]}"; do
			check "$when: $name" said_ok "$when: $name"
		done
	done
	check "$1: so many results, to the end" expect "results and ends" \
		"$(grep -cE '^(not )?ok - ' "$machine/said") $(grep -c '^end' "$machine/said")" \
		"$(($# * ${#names[@]})) $#"
}
