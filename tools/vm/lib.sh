# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What tools/vm/run and tools/vm/fabric share: kernels, what a guest is booted with, turns, the look
# at the kernel's log.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# What a guest is to be; find_kernel, build_all and find_accel add what follows from it.
state=$top/build/vm
kernel=6.1 smp=2 mem=1G timeout=300 append='' audit=0 icount=0
# For another processor: its Debian root, which a guest sees instead of this machine's.
machine=x86_64 cross='' root=/ shares=()
init='' image='' release='' modules='' built='' tree='' initrd='' accel=tcg
# Of one run: its files, the guest's command, what it may write, the kernel's log.
rundir='' command=() out='' console='' args=()
qemu_pid='' reader_pid='' silence_pid=''
# Seconds after which a guest that says nothing counts as hung; 0: only after the timeout.
silence=0

# What the kernel says when something is wrong. That a module comes from outside its tree is not.
complaints='Kernel panic|Oops|BUG:|WARNING: (CPU|possible|suspicious|inconsistent|bad unlock|nested lock|[^ ]*\.[ch]:)'
complaints+='|INFO: (possible|suspicious|trying to register non-static|inconsistent|rcu_|task .* blocked for more)'
complaints+='|rcu: INFO: .*stall|UBSAN|KASAN|KFENCE|kmemleak: [0-9]+ new suspected|soft lockup|hard LOCKUP'
complaints+='|general protection fault|unable to handle|unregister_netdevice: waiting for|refcount_t:|ODEBUG:'
complaints+='|scheduling while atomic|sleeping function called|RTNL: assertion failed|list_(add|del) corruption'
complaints+='|Out of memory: Killed|inc-vm: cannot|inc-audit: |workqueue lockup|leaked reference|has [0-9]+/[0-9]+ users'
complaints+='|Objects remaining|Slab cache still has objects'

say() { echo "vm: $*" >&2; }
die() { say "$*"; exit 125; }
usage() { sed -n "/^# ${0##*/}:/,/^set /{s/^# \\{0,1\\}//;/^set /d;p;}" "$0"; }

number() {
	[[ $2 =~ ^[1-9][0-9]{0,5}$ ]] || die "$1 '$2' is not a whole number above 0"
}

size() {
	[[ $2 =~ ^[1-9][0-9]*[MG]$ ]] || die "$1 '$2' is not a size like 512M or 2G"
}

need_programs() {
	local tool
	for tool in "qemu-system-$machine" cpio depmod modprobe gcc timeout setpriv flock; do
		command -v "$tool" >/dev/null ||
			die "'$tool' is missing: tools/deps vm (for arm64: arch) installs what a VM needs"
	done
}

# Sets image, release, modules (the kernel's own, may be empty) and built (where "make modules" puts
# ours).
find_kernel() {
	case $kernel in
	[0-9]*.[0-9]*)
		"$top/tools/kernel" fetch "$kernel" || die "there is no kernel $kernel to boot"
		image=$("$top/tools/kernel" path "$kernel" boot)
		release=$("$top/tools/kernel" path "$kernel" release)
		modules=$("$top/tools/kernel" path "$kernel" modules)
		built=$top/build/$kernel
		[[ $kernel != *-arm64 ]] || is_arm64
		;;
	smp-* | rt-*)
		"$top/tools/debug/kernel" build "$kernel" ||
			die "there is no kernel $kernel to boot"
		modules=$("$top/tools/debug/kernel" path "$kernel")
		image=$modules/vmlinux
		release=$(cat "$modules/include/config/kernel.release")
		built=$top/build/$release
		audit=1
		;;
	*)
		[ -f "$kernel" ] ||
			die "--kernel '$kernel' is neither a version (6.1, 6.12) nor a kernel image"
		image=$(readlink -f "$kernel")
		release=$(image_release "$image")
		modules=$(dirname "$image")/lib/modules/$release
		[ -d "$modules" ] || modules=$(dirname "$(dirname "$image")")/lib/modules/$release
		[ -d "$modules" ] || modules=
		built=$top/build/$release
		;;
	esac
}

# The guest's root has neither the project nor the kernel's modules.
is_arm64() {
	machine=aarch64 cross=aarch64-linux-gnu-
	root=$("$top/tools/kernel" root arm64) || exit 125
	shares=(tree "$top" modules "$modules")
	need_programs
}

# A bzImage says at 0x20e, relative to 0x200, where its version string stands.
image_release() {
	local offset
	[ "$(dd if="$1" bs=1 skip=514 count=4 status=none)" = HdrS ] ||
		die "--kernel '$1' is not a bzImage"
	offset=$(od -An -tu2 -j526 -N2 "$1")
	dd if="$1" bs=1 skip=$((offset + 512)) count=128 status=none | tr '\0 ' '\n' | head -1
}

build_init() {
	local src=$top/tools/vm/init.c
	init=$state/init.$machine
	[ ! "$init" -nt "$src" ] || return 0
	"${cross}gcc" -static -O2 -Wall -Wextra -o "$init.new" "$src" ||
		die "tools/vm/init.c does not build"
	mv "$init.new" "$init"
}

# A /lib/modules with the kernel's modules, ours, and depmod's files. Ours are copied: building goes
# on while a VM runs.
build_tree() {
	local ours key dir
	mapfile -t ours < <(find "$built" -maxdepth 2 -name '*.ko' 2>/dev/null | sort)
	key=$(stat -c '%n %s %y' "$image" "${ours[@]}" | md5sum | cut -c1-12)
	tree=$state/modules/$release-$key
	dir=$tree.new/lib/modules/$release
	[ ! -d "$tree" ] || { touch "$tree"; return 0; }
	find "$state/modules" -mindepth 1 -maxdepth 1 -mmin +240 -exec rm -rf {} + 2>/dev/null ||
		true
	rm -rf "$tree.new"
	mkdir -p "$dir/updates"
	if [ -n "$modules" ]; then
		[ ! -d "$modules/kernel" ] || ln -s "$modules/kernel" "$dir/kernel"
		cp "$modules"/modules.{order,builtin,builtin.modinfo} "$dir/"
	fi
	[ ${#ours[@]} -eq 0 ] || cp "${ours[@]}" "$dir/updates/"
	depmod -b "$tree.new" "$release" 2>"$state/depmod.log" ||
		die "depmod failed: $(cat "$state/depmod.log")"
	mv "$tree.new" "$tree"
}

# What reaches the host's files, in loading order, as paths.
boot_modules() {
	local name
	for name in virtio_pci virtio_console 9pnet_virtio 9p overlay; do
		modprobe -C /dev/null -d "$tree" -S "$release" --show-depends "$name" 2>/dev/null ||
			true
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

build_initrd() {
	local dir=$state/initrd.new file name n=10
	initrd=$state/modules/${tree##*/}/initrd
	[ ! "$initrd" -nt "$init" ] || return 0
	rm -rf "$dir"
	mkdir -p "$dir/modules" "$dir/dev" "$dir/proc" "$dir/sys"
	cp "$init" "$dir/init"
	: >"$dir/modules/list"
	for file in $(boot_modules); do
		name=$((n++))-$(basename "$file")
		case $name in
		*.xz) name=${name%.xz}; xz -dc "$file" >"$dir/modules/$name" ;;
		*.zst) name=${name%.zst}; zstd -qdc "$file" >"$dir/modules/$name" ;;
		*.gz) name=${name%.gz}; gzip -dc "$file" >"$dir/modules/$name" ;;
		*) cp "$file" "$dir/modules/$name" ;;
		esac
		echo "$name" >>"$dir/modules/list"
	done
	(cd "$dir" && find . | cpio -o -H newc --quiet) >"$initrd.new"
	mv "$initrd.new" "$initrd"
	rm -rf "$dir"
}

build_all() {
	mkdir -p "$state/modules" "$state/run"
	exec 8>"$state/lock"
	flock 8
	build_init
	build_tree
	build_initrd
	exec 8>&-
}

# Whether a guest really comes up under KVM is tried once per boot of this machine: /dev/kvm alone
# proves nothing.
find_accel() {
	local verdict=${XDG_CACHE_HOME:-$HOME/.cache}/inc-linux/kvm boot
	boot=$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo unknown)
	accel=tcg
	[ -w /dev/kvm ] && [ $machine = x86_64 ] || return 0
	if [ "$(cut -d' ' -f1 "$verdict" 2>/dev/null)" != "$boot" ]; then
		mkdir -p "${verdict%/*}"
		if kvm_comes_up; then accel=kvm; fi
		echo "$boot $accel" >"$verdict.$$"
		mv "$verdict.$$" "$verdict"
	fi
	accel=$(cut -d' ' -f2 "$verdict")
}

# A guest that lives says so within a moment; one that has not said a word after two seconds never
# will.
kvm_comes_up() {
	local serial=$rundir/kvm.log pid up=1 i
	say "trying KVM"
	: >"$serial"
	timeout -k 1 10 qemu-system-x86_64 -nodefaults -no-user-config -M q35 -accel kvm -cpu host \
		-m 256M -display none \
		-nic none -no-reboot -serial "file:${serial//,/,,}" -kernel "$image" \
		-initrd "$initrd" \
		-append "console=ttyS0 panic=-1 inc_probe=1" </dev/null >/dev/null 2>&1 &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		if grep -q 'inc-vm: up' "$serial"; then up=0; break; fi
		[ $i -lt 20 ] || [ -s "$serial" ] || break
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	if grep -q 'inc-vm: up' "$serial"; then up=0; fi
	kill $pid 2>/dev/null || true
	wait $pid 2>/dev/null || true
	[ $up = 0 ] || say "no guest comes up under KVM here, using emulation"
	return $up
}

# Where python3 really is: a wrapper script around it takes a guest longer than most of what is to
# be run.
python_dir() {
	python3 -c 'import os, sys; print(os.path.dirname(sys.executable))' 2>/dev/null ||
		echo /usr/bin
}

# The directory that guests may write.
find_out() {
	out=$(mkdir -p "${INC_VM_OUT:-$state/out}" && cd "${INC_VM_OUT:-$state/out}" && pwd)
}

# The files through which init learns what to do.
write_orders() {
	local name
	if [ $audit = 1 ]; then
		# shellcheck disable=SC2016 # the guest's shell
		command=(sh -c 'audit=$1; shift; "$@"; s=$?; "$audit"; exit $s' sh \
			"$top/tools/vm/audit" "${command[@]}")
	fi
	printf '%s\0' "${command[@]}" >"$rundir/argv"
	printf '%s' "$PWD" >"$rundir/cwd"
	printf '%s' "$out" >"$rundir/out"
	printf '%s' "$tree/lib/modules/$release" >"$rundir/lib"
	[ ${#shares[@]} = 0 ] || printf '%s\0' "${shares[@]}" >"$rundir/shares"
	[ ${#shares[@]} != 0 ] || : >"$rundir/shares"
	export INC_VM=1 INC_VM_OUT=$out INC_VM_KERNEL=$kernel
	PATH=$top/build/userspace/bin:$(python_dir):$PATH:/usr/sbin:/sbin
	export LD_LIBRARY_PATH=$top/build/userspace/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	for name in $(compgen -e); do
		printf '%s=%s\0' "$name" "${!name}"
	done >"$rundir/env"
}

share() {
	local tag=$1 path=${2//,/,,}
	args+=(-fsdev "local,id=$tag,path=$path,security_model=none,multidevs=remap${3:+,$3}"
		-device "virtio-9p-pci,fsdev=$tag,mount_tag=$tag")
}

qemu_args() {
	local cmdline="loglevel=7 panic=-1 oops=panic audit=0 net.ifnames=0" i
	# What a hung kernel knows about itself ends it, and says where all processors are.
	cmdline+=" unknown_nmi_panic panic_print=0x40 softlockup_panic=1 hung_task_panic=1"
	cmdline+=" sysctl.kernel.panic_on_rcu_stall=1"
	args=(-nodefaults -no-user-config -smp "$smp" -m "$mem" \
		-display none -nic none -no-reboot
		-kernel "$image" -initrd "$initrd" -serial "file:${console//,/,,}"
		-chardev "file,id=out,path=${rundir//,/,,}/pipe" -device virtio-serial-pci
		-device "virtserialport,chardev=out,nr=1"
		-device virtio-rng-pci)
	if [ $machine = aarch64 ]; then
		args+=(-M virt -accel tcg -cpu cortex-a72)
		cmdline+=" console=ttyAMA0"
	else
		args+=(-M q35)
		cmdline+=" console=ttyS0"
		cpu_args
	fi
	share root "$root" readonly=on
	for ((i = 0; i < ${#shares[@]}; i += 2)); do
		share "${shares[i]}" "${shares[i + 1]}" readonly=on
	done
	share run "$rundir"
	[ -z "$out" ] || share out "$out"
	args+=(-append "$cmdline $append")
}

# Of x86-64; adds to qemu_args' cmdline.
cpu_args() {
	if [ $icount = 1 ]; then
		args+=(-accel "tcg,thread=single" -cpu max -icount 'shift=0,sleep=off')
	elif [ "$accel" = kvm ]; then
		args+=(-accel kvm -cpu host)
	else
		# Copying by "rep movsb", which a processor with these two is said to be fastest at, is
		# emulated byte by byte.
		args+=(-accel "tcg,thread=multi" -cpu "max,-erms,-fsrm")
		# What has been translated of a program is found again by its addresses: a program
		# that has new ones whenever it is started is translated whenever it is started.
		cmdline+=" norandmaps"
		# On a busy machine the timer's ticks come too late for the kernel's test of it,
		# which panics.
		cmdline+=" no_timer_check"
		# Waking an idle emulated processor takes longer than anything it then does. A
		# single one is seldom waited for.
		[ "$smp" = 1 ] || [ "$smp" -gt "$(nproc)" ] || cmdline+=" idle=poll"
	fi
}

# Emulated guests with several processors poll when idle: two at once would only take each other's
# processors, and then their time-outs. Such a one waits until it is alone. Of guests with one
# processor there may be as many as the host has processors, and one whose clock counts instructions
# needs no turn at all.
take_turn() {
	local lock=${XDG_CACHE_HOME:-$HOME/.cache}/inc-linux/vm.lock i slot
	local -A held=()
	[ "$accel" != kvm ] && [ $icount = 0 ] || return 0
	# Who waits for slots keeps the lock, so that nobody overtakes; who is to be alone keeps it
	# to its end.
	exec 8>"$lock"
	flock -n 8 || { say "waiting for another guest to end"; flock 8; }
	while :; do
		for ((i = 0; i < $(nproc); i++)); do
			[ -z "${held[$i]-}" ] || continue
			exec {slot}>"$lock.$i"
			if flock -n "$slot"; then
				held[$i]=$slot
				if [ "$smp" = 1 ]; then
					exec 8>&-
					return
				fi
			else
				exec {slot}>&-
			fi
		done
		[ ${#held[@]} -lt "$(nproc)" ] || return 0
		sleep 0.2
	done
}

# boot [READER...]: runs the guest; READER (cat) has its command's output as input. The status is
# timeout's: 124 if the guest had to be ended.
boot() {
	local status=0
	[ $# -gt 0 ] || set -- cat
	mkfifo "$rundir/pipe"
	"$@" <"$rundir/pipe" 8>&- &
	reader_pid=$!
	# Held open here, the pipe has an end even if qemu never opens it.
	exec 7>"$rundir/pipe"
	# Whatever ends this shell ends the guest.
	setpriv --pdeathsig TERM timeout -k 5 "$timeout" "qemu-system-$machine" "${args[@]}" \
		</dev/null >&2 2>"$rundir/qemu.err" 7>&- 8>&- &
	qemu_pid=$!
	if [ "$silence" != 0 ]; then
		watch_silence 7>&- 8>&- &
		silence_pid=$!
	fi
	wait $qemu_pid || status=$?
	qemu_pid=
	end_watch
	exec 7>&-
	wait $reader_pid || true
	reader_pid=
	return $status
}

# What the guest's processors do, asked from outside; then its kernel is asked, by an NMI for which
# it has no use: it ends with the stacks of all processors.
ask_processors() {
	local i
	{
		echo "info registers -a"
		sleep 1
		echo "info registers -a"
		echo nmi
	} >"$rundir/monitor.in"
	timeout 3 cat "$rundir/monitor.out" | tr -d '\r' | grep -E '^(CPU#|[RE]IP=|CR3=)|HLT=' \
		>"$rundir/processors" || true
	for ((i = 0; i < 30; i++)); do
		kill -0 "$qemu_pid" 2>/dev/null || return 0
		sleep 1
	done
	kill "$qemu_pid" 2>/dev/null || true
}

# Ends a guest of which nothing was heard for "silence" seconds: neither its command nor its kernel.
watch_silence() {
	local before='' now since=$SECONDS
	trap - EXIT INT TERM HUP
	while [ $((SECONDS - since)) -lt "$silence" ]; do
		sleep 2
		now=$(stat -c %s "$console" "$rundir/said")
		[ "$now" = "$before" ] || since=$SECONDS
		before=$now
	done
	: >"$rundir/processors"
	ask_processors
}

end_watch() {
	[ -n "$silence_pid" ] || return 0
	kill "$silence_pid" 2>/dev/null || true
	wait "$silence_pid" 2>/dev/null || true
	silence_pid=
}

# Ends what boot() has started, if it still runs.
end_qemu() {
	end_watch
	if [ -n "$qemu_pid" ]; then
		kill "$qemu_pid" 2>/dev/null || true
		wait "$qemu_pid" 2>/dev/null || true
	fi
	[ -z "$reader_pid" ] || kill "$reader_pid" 2>/dev/null || true
}

# The first line of the kernel's log that says that something is wrong, if there is one.
complaint() {
	tr -d '\r' <"$console" | grep -E -m1 "$complaints" ||
		tr -d '\r' <"$console" | grep -F -m1 'cut here' || true
}

show_log() {
	say "the kernel's log, its last 200 lines:"
	tr -d '\r' <"$console" | tail -200 >&2
}
