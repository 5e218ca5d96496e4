# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The documents. To be sourced by run, whose result, skip and wanted it uses, and its $tmp and $top.

# shellcheck disable=SC2154

# What libinc exports and its reference does not have, or the reverse.
reference_differs()
{
	diff <(sed -n 's/^[[:space:]]*\(inc_[a-z_]*\);$/\1/p' "$top/userspace/libinc/libinc.map" |
		sort) \
		<(grep -o '<dt [^>]*id="c\.inc_[a-z_]*"' "$tmp/docs/html/libinc.html" |
			sed 's/.*"c\.//;s/"//' | grep -vFx -f <(structs_of_libinc) | sort)
}

structs_of_libinc()
{
	sed -n 's/^struct \(inc_[a-z_]*\)\( {\|;\)$/\1/p' "$top/userspace/libinc/inc.h" |
		grep -vFx inc_split_offer
}

pages()
{
	if ! command -v sphinx-build >/dev/null; then
		skip "documents: pages" "python3-sphinx is not installed"
		return
	fi
	"$top/tools/docs/build" "$tmp/docs" >"$tmp/log" 2>&1
	result $? "documents: pages are made without a warning"
	sed 's/^/# /' "$tmp/log"
	reference_differs >"$tmp/log" 2>&1
	result $? "documents: the reference of libinc has what it exports"
	sed 's/^/# /' "$tmp/log"
}

# described PAGE: something stands behind its name, and below DESCRIPTION
described()
{
	awk '/^inc_.* \\- ./ { named = 1 } /^\.SH/ { here = $2 == "DESCRIPTION"; next }
		here && !/^\./ { text = 1 } END { exit !(named && text) }' "$1"
}

# Of each function that libinc exports there is a manual page that names it, and no page of others.
manual_pages()
{
	local name page status=0

	"$top/tools/docs/man" "$tmp/man3" || return
	while read -r name; do
		page=$tmp/man3/$name.3
		if [ ! -e "$page" ]; then
			echo "$name: no page"
		elif ! grep -q "^\.so man3/inc_[a-z_]*\.3$" "$page" &&
		     ! grep -qE "^\.TH ${name^^} 3 " "$page"; then
			echo "$page: neither a page nor a way to one"
		elif ! grep -qE "^\\\\fB.*\b$name\(" "$tmp/man3/$(sed -n 's|^\.so man3/||p' "$page" |
				grep . || echo "$name.3")"; then
			echo "$name: not in the synopsis of its page"
		elif ! grep -q '^\.so ' "$page" && ! described "$page"; then
			echo "$page: says nothing"
		else
			continue
		fi
		status=1
	done < <(sed -n 's/^[[:space:]]*\(inc_[a-z_]*\);$/\1/p' "$top/userspace/libinc/libinc.map")
	[ "$(find "$tmp/man3" -name '*.3' | wc -l)" = \
		"$(grep -c '^[[:space:]]*inc_[a-z_]*;$' "$top/userspace/libinc/libinc.map")" ] || status=1
	return $status
}

# Manual pages name libinc-mpi where it was installed.
pages_name_libraries()
{
	local name="documents: manual pages name the directory of libinc-mpi"

	if [ ! -e "$top/userspace/Makefile" ]; then
		skip "$name" "the sources are not here"
		return
	fi
	make -s -C "$top/userspace" install DESTDIR="$tmp/pages" PREFIX=/p \
		LIBDIR=/p/lib/a-b PYTHON= >"$tmp/log" 2>&1 &&
		grep -qF ':/p/lib/a\-b/inc\-mpi/openmpi ' "$tmp/pages/p/share/man/man7/libinc-mpi.7" &&
		grep -qF '=/p/lib/a\-b/inc\-mpi/openmpi/' "$tmp/pages/p/share/man/man8/inc.8" &&
		! grep -rF /usr/local/lib "$tmp/pages/p/share/man" >"$tmp/log"
	result $? "$name"
	sed 's/^/# /' "$tmp/log"
}

texts()
{
	local line ended=0

	while IFS= read -r line; do
		case $line in
		"ok - "*) result 0 "${line#ok - }" ;;
		"not ok - "*) result 1 "${line#not ok - }" ;;
		end) ended=1 ;;
		*) echo "# ${line#\# }" ;;
		esac
	done < <(python3 "$here/documents.py" 2>&1)
	[ "$ended" = 1 ]
	result $? "documents: the tests came to their end"
}

documents()
{
	wanted "documents" || return
	if [ ! -e "$top/tools/docs/build" ]; then
		skip "documents" "the sources are not here"
		return
	fi
	pages
	manual_pages >"$tmp/log" 2>&1
	result $? "documents: each function of libinc has a manual page"
	sed 's/^/# /' "$tmp/log"
	pages_name_libraries
	texts
}
