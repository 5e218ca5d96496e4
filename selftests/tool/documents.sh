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
	texts
}
