-- SPDX-License-Identifier: GPL-2.0-only
--
-- In-network collectives for Wireshark and tshark: every packet of Documentation/protocol.rst,
-- taken apart. Documentation/wireshark.rst says how it is loaded and what can be filtered for.
--
-- A field of struct inc_X in uapi/linux/inc_wire.h has the filter inc.X.FIELD, one of the header
-- inc.FIELD; selftests/tool/wireshark.py compares the two, and what is said to be dropped with what
-- the kernel's own parser drops.

local inc = Proto("inc", "In-Network Collectives")

local VERSION = 1
local HEADER = 48
local DESCRIPTOR = 32
local MAX_BLOCK = 16384
local NOBODY = 0xffffffff
-- so many elements of a payload, and lines of a list, are shown
local MAX_SHOWN = 8

-- ---- What has a name ----

local packet_types = {
	"CONTRIB", "RESULT", "PROBE", "STATUS", "NACK", "ERROR", "JOIN", "CHALLENGE", "WAIT",
	"READY", "REFUSE", "ABORT", "MOVE", "PEERS", "PARTIAL",
}

local types = {
	"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "f8e4m3",
	"f8e5m2", "bool", "c32", "c64", "i32_i32", "f32_i32", "i64_i64", "f64_i64", "mxf8e4m3", "mxf8e5m2",
	"mxf4e2m1", "mxi8", [0] = "none",
}

local ops = {
	"sum", "prod", "min", "max", "band", "bor", "bxor", "land", "lor", "lxor", "minloc",
	"maxloc", "avg", "wsum", [0] = "none",
}

local collectives = {
	"barrier", "allreduce", "reduce", "reduce-scatter", "broadcast", "allgather", "gather",
	"scatter", "alltoall", "scan", "exscan", "leave",
}

local fallbacks = { [0] = "none", "standby", "edge" }
local late_policies = { [0] = "wait", "fail", "partial" }
local families = { [0] = "none", [4] = "IPv4", [6] = "IPv6" }

local error_codes = {
	"MISMATCH", "CANCELED", "RANK_DEAD", "RANK_ABORT", "RANK_LATE", "RANK_FAULT", "NODE_DEAD",
	"NODE_GONE", "LEFT", "UNSUPPORTED", "COUNTS", "RANK_PATH", [0] = "NONE",
}

-- Those of uapi/linux/inc_names.h.
local error_texts = {
	MISMATCH = "ranks disagree about the operation",
	CANCELED = "an operation before this one failed",
	RANK_DEAD = "does not answer within the dead limit",
	RANK_ABORT = "has ended the group: it was killed, has closed its socket, " ..
		"or has called inc_cancel()",
	RANK_LATE = "did not contribute within the late limit",
	RANK_FAULT = "lost its buffer during the operation",
	NODE_DEAD = "the node does not answer within the dead limit",
	NODE_GONE = "the node was removed by its administrator",
	LEFT = "has left the group, or was killed, between two operations",
	UNSUPPORTED = "the node cannot reduce this type with this operation",
	COUNTS = "sends another count than is expected of it",
	RANK_PATH = "exchanges short packets with the node, but no blocks get through: " ..
		"is an MTU too small?",
	NONE = "wants nothing more of the group",
}

local refuse_codes = {
	"NO_NODE", "UNKNOWN", "RANK_TAKEN", "SIZE", "KEY", "LIMIT", "BUSY", "BLOCK", "MOVED",
	"RANK_DEAD", "OUT", "TENANT", "QUOTA", "NEXT", "TREE", "ORDER", "STRIPES",
	"KINDS",
}

local refuse_texts = {
	NO_NODE = "this box is no node for that interface",
	UNKNOWN = "group, incarnation or epoch unknown: join again",
	RANK_TAKEN = "the rank is taken",
	SIZE = "the group has another size",
	KEY = "the proof is wrong: is the key?",
	LIMIT = "the node is full",
	BUSY = "an older run of the group has not ended, or memory is short",
	BLOCK = "the path carries too small a block",
	MOVED = "the group is at a later move",
	RANK_DEAD = "others did not come along",
	OUT = "the group has shrunk, and this rank is out",
	TENANT = "no tenant takes who is there, or the group is another's",
	QUOTA = "the tenant has as much as it may",
	NEXT = "the first block without result is wrong",
	TREE = "a node is no child of this group",
	ORDER = "folds do not follow the order of the ranks",
	STRIPES = "the group has another number of stripes",
	KINDS = "a node does not reduce what is asked for",
}

-- Flags of the header: mask, name, what it says.
local FLAGS = {
	{ 0x0001, "payload", "Payload: the rank is in C, the result has elements" },
	{ 0x0002, "want", "Want: the rank is in R" },
	{ 0x0004, "final", "Final: the result of an earlier epoch" },
	{ 0x0008, "desc", "Descriptor follows the header" },
	{ 0x0010, "retrans", "Retransmission" },
	{ 0x0020, "leave", "Leave" },
	{ 0x0040, "ce", "Congestion met by contributions" },
	{ 0x0080, "ece", "Congestion met by results" },
	{ 0x0100, "partial", "Partial: not of all ranks" },
	{ 0x0200, "wide", "Wide: accumulators" },
	{ 0x0400, "part", "Part: one of several" },
	{ 0x0800, "zero", "Zero: all elements are 0, and are not here" },
	{ 0x1000, "multicast", "About the IP multicast group of results" },
	{ 0x8000, "auth", "Authentication tag (reserved)" },
}
local KNOWN_FLAGS = 0x1fff
local MODE_SATURATE = 0x01
local STALE = 0x80

-- ---- Fields ----
--
-- A member of a structure: name, bytes, what it is, and perhaps
--   how = "hex", "none" (~0 is nobody), "bytes", "zero" (reserved), "addr", "desc", or a function
--         that adds it, instead of a number;
--   names = the names of its values;
--   mask = the bits that these are in;
--   unit = what is appended to it.

local STRUCTS = {
	desc = {
		{ "coll", 1, "Collective", names = collectives },
		{ "type", 1, "Type of the buffers", names = types },
		{ "op", 1, "Operation", names = ops },
		{ "wire", 1, "Type on the wire", names = types },
		{ "mode", 1, "Mode", how = "hex" },
		{ "resv", 3, "Reserved", how = "zero" },
		{ "root", 4, "Root" },
		{ "opseq", 4, "Operation number" },
		{ "count", 8, "Elements" },
		{ "counts_hash", 8, "Hash of per-rank counts", how = "hex" },
	},
	addr = {
		{ "addr", 16, "Address", how = "bytes" },
		{ "family", 2, "Family", names = families },
		{ "port", 2, "UDP port" },
	},
	probe = {
		{ "srtt", 4, "Smoothed round trip", unit = " us" },
		{ "bits", 2, "Bits of the bitmap" },
		{ "slack", 2, "Out of order by", unit = " x 16 us" },
	},
	status = {
		{ "waiting", 4, "Waits for rank", how = "none" },
		{ "waited", 4, "Waits since", unit = " ms" },
		{ "bits", 2, "Bits of the bitmap" },
		{ "slack", 2, "Out of order by", unit = " x 16 us" },
		{ "seen", 4, "Contributions seen to the oldest block" },
	},
	join = {
		{ "size", 4, "Ranks of the group" },
		{ "nonce", 4, "Nonce", how = "hex" },
		{ "next", 8, "First block without result" },
		{ "srtt", 4, "Smoothed round trip", unit = " us" },
		{ "block", 2, "Bytes of a block that the path carries" },
		{ "fallback", 1, "Fallback", names = fallbacks },
		{ "flags", 1, "Flags", how = "hex" },
		{ "move", 4, "Move" },
		{ "late_policy", 1, "Late policy", names = late_policies, mask = 0x03 },
		{ "below", 1, "Below", how = "hex" },
		{ "window", 2, "Window", unit = " blocks" },
		{ "lineage", 8, "Lineage", how = "hex" },
		{ "dead_ms", 4, "Dead limit", unit = " ms" },
		{ "late_ms", 4, "Late limit", unit = " ms" },
		{ "job", 8, "Job" },
		{ "challenge", 8, "Challenge", how = "hex" },
		{ "proof", 16, "Proof", how = "bytes" },
	},
	kinds = {
		{ "types", 4, "Types", how = "hex" },
		{ "ops", 4, "Operations", how = "hex" },
	},
	join_kinds = {
		{ "lacks", 8, "Not reduced by a node", how = "kinds" },
		{ "asks", 8, "Asked for", how = "kinds" },
	},
	challenge = {
		{ "nonce", 4, "Nonce", how = "hex" },
		{ "flags", 4, "Flags", how = "hex" },
		{ "challenge", 8, "Challenge", how = "hex" },
	},
	about = {
		{ "parent", 20, "Node above", how = "addr" },
		{ "caps", 4, "Digest of types and operations", how = "hex" },
		{ "max_groups", 4, "Most groups" },
		{ "window", 2, "Window", unit = " blocks" },
		{ "fallback", 1, "Fallback", names = fallbacks },
		{ "flags", 1, "Flags", how = "hex" },
		{ "groups", 4, "Groups" },
		{ "children", 4, "Children of all groups" },
		{ "lacks", 8, "Not reduced there", how = "kinds" },
		{ "memory_left", 8, "Memory left", unit = " bytes" },
		{ "nsec", 8, "Processor time", unit = " ns" },
	},
	wait = {
		{ "nonce", 4, "Nonce", how = "hex" },
		{ "joined", 4, "Members so far" },
		{ "missing", 4, "Lowest missing rank", how = "none" },
		{ "pause", 4, "JOIN again after", unit = " us" },
	},
	ready = {
		{ "nonce", 4, "Nonce", how = "hex" },
		{ "window", 4, "Window", unit = " blocks" },
		{ "start", 8, "First block of the epoch" },
		{ "up_cookie", 8, "Up cookie", how = "hex" },
		{ "down_cookie", 8, "Down cookie", how = "hex" },
		{ "size", 4, "Ranks of the group" },
		{ "children", 2, "Ranks below the receiver" },
		{ "trees", 2, "Trees" },
		{ "block", 2, "Bytes of a full block" },
		{ "rank", 2, "Rank of the receiver" },
		{ "dead_ms", 4, "Dead limit", unit = " ms" },
		{ "late_ms", 4, "Late limit", unit = " ms" },
		{ "opseq", 4, "First operation of the epoch" },
		{ "move", 4, "Move" },
		{ "fallback", 1, "Fallback", names = fallbacks },
		{ "standbys", 1, "Standby nodes" },
		{ "late_policy", 1, "Late policy", names = late_policies, mask = 0x03 },
		{ "height", 1, "Height", how = "hex" },
		{ "lineage", 8, "Lineage", how = "hex" },
		{ "tree_key", 16, "Key of the receiver's tree", how = "bytes" },
		{ "edge", 20, "Host of rank 0", how = "addr" },
		{ "standby", 20, "Standby node", how = "addr", times = 3 },
	},
	refuse = {
		{ "nonce", 4, "Nonce", how = "hex" },
		{ "code", 2, "Reason", names = refuse_codes },
		{ "resv", 2, "Reserved", how = "zero" },
		{ "detail", 8, "Detail" },
	},
	error = {
		{ "block", 8, "First block without a result" },
		{ "opseq", 4, "Failed operation" },
		{ "resume", 4, "First operation that goes on" },
		{ "code", 2, "Error", names = error_codes },
		{ "resv", 2, "Reserved", how = "zero" },
		{ "rank", 4, "Rank concerned", how = "none", times = 2 },
		{ "resv2", 4, "Reserved", how = "zero" },
		{ "desc", 32, "Its operation", how = "desc", times = 2 },
	},
	move = {
		{ "lineage", 8, "Lineage", how = "hex" },
		{ "move", 4, "Move" },
		{ "resv", 4, "Reserved", how = "zero" },
	},
	peers = {
		{ "first", 4, "First rank" },
		{ "n", 4, "Ranks" },
	},
	peer = {
		{ "addr", 20, "Host", how = "addr" },
		{ "cookie", 8, "Cookie of the tree", how = "hex" },
	},
	partial = {
		{ "set", 2, "Number of the set" },
		{ "bits", 2, "Bits of the bitmap" },
	},
}

-- What a packet of a type has behind its header; NACK has nothing.
local BODIES = {
	PROBE = "probe", STATUS = "status", ERROR = "error", JOIN = "join", CHALLENGE = "challenge",
	WAIT = "wait", READY = "ready", REFUSE = "refuse", ABORT = "error", MOVE = "move",
	PEERS = "peers", PARTIAL = "partial",
}

local BY_BYTES = {
	ProtoField.uint8, ProtoField.uint16, [4] = ProtoField.uint32, [8] = ProtoField.uint64,
}

local f = {}	-- ProtoFields by filter
local all = {}	-- the same as a list

local function field(filter, make, ...)
	f[filter] = make(filter, ...)
	all[#all + 1] = f[filter]
end

local function flag(filter, what, width, mask)
	field(filter, ProtoField.bool, what, width, nil, mask)
end

local function number(filter, m)
	local base_of = m.how == "hex" and base.HEX or base.DEC
	field(filter, BY_BYTES[m[2]], m[3], base_of, m.names, m.mask)
end

for struct, members in pairs(STRUCTS) do
	for _, m in ipairs(members) do
		local filter = "inc." .. struct .. "." .. m[1]
		if m.how == "bytes" or m.how == "zero" then
			field(filter, ProtoField.bytes, m[3])
		elseif m.how == "addr" or m.how == "desc" or m.how == "kinds" then
			field(filter, ProtoField.none, m[3])
		else
			number(filter, m)
		end
	end
end

-- The header.
field("inc.version", ProtoField.uint8, "Version", base.DEC, nil, 0xf0)
field("inc.pkt_type", ProtoField.uint8, "Packet", base.DEC, packet_types, 0x0f)
field("inc.part", ProtoField.uint8, "Part")
field("inc.flags", ProtoField.uint16, "Flags", base.HEX)
for _, d in ipairs(FLAGS) do
	flag("inc.flags." .. d[2], d[3], 16, d[1])
end
field("inc.group", ProtoField.uint32, "Group")
field("inc.incarnation", ProtoField.uint32, "Incarnation", base.HEX)
field("inc.epoch", ProtoField.uint32, "Epoch")
field("inc.psn", ProtoField.uint32, "Block")
field("inc.tree", ProtoField.uint16, "Tree")
field("inc.child", ProtoField.uint16, "Child")
field("inc.span", ProtoField.uint16, "Blocks")
field("inc.len", ProtoField.uint16, "Length of payload or body")
field("inc.opseq", ProtoField.uint32, "Operation number")
field("inc.sig", ProtoField.uint32, "Signature", base.HEX)
field("inc.type", ProtoField.uint8, "Type of the elements", base.DEC, types)
field("inc.op", ProtoField.uint8, "Operation of the node", base.DEC, ops)
field("inc.mode", ProtoField.uint8, "Mode", base.HEX)
field("inc.resv", ProtoField.uint8, "Reserved")
field("inc.tstamp", ProtoField.uint32, "Time stamp")
field("inc.cookie", ProtoField.uint64, "Cookie", base.HEX)

-- What is in a member, or behind a structure.
flag("inc.mode.saturate", "Saturate", 8, MODE_SATURATE)
flag("inc.desc.mode.saturate", "Saturate", 8, MODE_SATURATE)
flag("inc.desc.mode.counts", "Counts differ from rank to rank", 8, 0x02)
flag("inc.desc.mode.part", "One part of an operation, the others are other stripes'", 8, 0x04)
flag("inc.desc.mode.counts_phase", "Exchange of counts", 8, 0x80)
field("inc.join.below.height", ProtoField.uint8, "Levels of nodes from the sender down",
	base.DEC, nil, 0x0f)
flag("inc.join.flags.shrink", "Goes on without those that are gone", 8, 0x01)
flag("inc.join.flags.canonical", "Asks for the order of the ranks in folds", 8, 0x02)
flag("inc.join.flags.many_parts", "That would take too many parts", 8, 0x04)
flag("inc.join.flags.rebind", "A member that comes by another port", 8, 0x08)
flag("inc.join.flags.kinds", "Says what is not reduced, or asked for", 8, 0x10)
for _, packet in ipairs({ "join", "ready" }) do
	field("inc." .. packet .. ".stripe", ProtoField.uint8, "Stripe", base.DEC, nil, 0x1c)
	field("inc." .. packet .. ".stripes", ProtoField.uint8, "Stripes, less one", base.DEC, nil,
		0xe0)
end
flag("inc.join.below.tree_order", "Folds in the order of its own tree", 8, 0x20)
flag("inc.join.below.return", "Returns to its tree of nodes", 8, 0x10)
flag("inc.join.below.ask", "Asks what the node is", 8, 0x40)
flag("inc.join.below.stale", "Not all ranks below have been heard lately", 8, STALE)
field("inc.ready.height.levels", ProtoField.uint8, "Levels of nodes below the root",
	base.DEC, nil, 0x0f)
flag("inc.ready.height.tree_order", "Folds in the order of the tree of nodes", 8, 0x80)
flag("inc.ready.height.kinds", "Says what is not reduced", 8, 0x40)
field("inc.ready.lacks", ProtoField.none, "Not reduced by a node")
field("inc.join.ranks", ProtoField.bytes, "Ranks below the sender")
field("inc.join.host", ProtoField.none, "Host of rank 0")
field("inc.probe.bitmap", ProtoField.bytes, "Results that are here")
field("inc.status.bitmap", ProtoField.bytes, "Contributions that are here, or needed no more")
field("inc.partial.bitmap", ProtoField.bytes, "Children that have contributed")
field("inc.peers.peer", ProtoField.none, "Peer")
field("inc.peer.rank", ProtoField.uint32, "Rank")
field("inc.addr.ip", ProtoField.ipv4, "IPv4 address")
field("inc.addr.ip6", ProtoField.ipv6, "IPv6 address")
field("inc.desc", ProtoField.none, "Descriptor")
field("inc.payload", ProtoField.bytes, "Payload")
field("inc.elements", ProtoField.string, "Elements")
field("inc.padding", ProtoField.bytes, "Padding")
field("inc.rest", ProtoField.bytes, "What is not said to be there")

-- What other frames say.
field("inc.first_in", ProtoField.framenum, "First sent in")
field("inc.probe_in", ProtoField.framenum, "Answer to the PROBE in", base.NONE, frametype.REQUEST)
field("inc.time", ProtoField.relative_time, "Time since the PROBE")
inc.fields = all

-- ---- Expert information ----

local e = {
	version = ProtoExpert.new("inc.expert.version", "Version that receivers drop (VERSION)",
		expert.group.PROTOCOL, expert.severity.ERROR),
	malformed = ProtoExpert.new("inc.expert.malformed", "Receivers drop this (MALFORMED)",
		expert.group.MALFORMED, expert.severity.ERROR),
	body = ProtoExpert.new("inc.expert.body", "The body does not have what it says",
		expert.group.MALFORMED, expert.severity.WARN),
	zeros = ProtoExpert.new("inc.expert.zeros", "Expected zeros",
		expert.group.PROTOCOL, expert.severity.WARN),
	checksum = ProtoExpert.new("inc.expert.checksum", "Receivers drop this: UDP checksum",
		expert.group.CHECKSUM, expert.severity.ERROR),
	cut = ProtoExpert.new("inc.expert.cut", "The capture has not all of the packet",
		expert.group.UNDECODED, expert.severity.NOTE),
	retrans = ProtoExpert.new("inc.expert.retrans", "Sent again",
		expert.group.SEQUENCE, expert.severity.NOTE),
	twice = ProtoExpert.new("inc.expert.twice", "In the capture twice",
		expert.group.SEQUENCE, expert.severity.NOTE),
	missing = ProtoExpert.new("inc.expert.missing", "Blocks are missing",
		expert.group.SEQUENCE, expert.severity.NOTE),
	late = ProtoExpert.new("inc.expert.late", "A rank is late",
		expert.group.SEQUENCE, expert.severity.WARN),
	partial = ProtoExpert.new("inc.expert.partial", "A result without late ranks",
		expert.group.SEQUENCE, expert.severity.WARN),
	congestion = ProtoExpert.new("inc.expert.congestion", "Congestion was met",
		expert.group.SEQUENCE, expert.severity.NOTE),
	error = ProtoExpert.new("inc.expert.error", "Operations fail",
		expert.group.RESPONSE_CODE, expert.severity.ERROR),
	abort = ProtoExpert.new("inc.expert.abort", "A rank or node is gone",
		expert.group.RESPONSE_CODE, expert.severity.ERROR),
	done = ProtoExpert.new("inc.expert.done", "A rank or node has done with the group",
		expert.group.RESPONSE_CODE, expert.severity.NOTE),
	refuse = ProtoExpert.new("inc.expert.refuse", "Refused",
		expert.group.RESPONSE_CODE, expert.severity.WARN),
	run = ProtoExpert.new("inc.expert.run", "Several packets before segmentation",
		expert.group.REASSEMBLE, expert.severity.CHAT),
}
do
	local list = {}
	for _, x in pairs(e) do
		list[#list + 1] = x
	end
	inc.experts = list
end

inc.prefs.port = Pref.uint("UDP port", 5227,
	"The port of nodes and hosts (inc node add ... port N)")

local udp_checksum = Field.new("udp.checksum")
local udp_status = Field.new("udp.checksum.status")

-- By key: the frame in which a contribution came first; frame and time of a PROBE.
local contributions = {}
local probes = {}
-- By frame and offset: what the first pass has found.
local found = {}

local registered

local function register_port()
	local table_of = DissectorTable.get("udp.port")
	if registered then
		table_of:remove(registered, inc)
	end
	registered = inc.prefs.port
	table_of:add(registered, inc)
end

function inc.prefs_changed()
	if registered ~= inc.prefs.port then
		register_port()
	end
end

function inc.init()
	contributions, probes, found = {}, {}, {}
end

-- ---- Helpers ----

local function has(value, mask)
	return math.floor(value / mask) % 2 == 1
end

local function padded(n)
	return n + (4 - n % 4) % 4
end

local function all_zeros(range)
	return range:len() == 0 or not range:bytes():tohex():find("[^0]")
end

-- captured TVB OFFSET BYTES: as much of it as the capture has, nil if that is nothing
local function captured(tvb, offset, bytes)
	local there = math.min(bytes, tvb:len() - offset)
	return there > 0 and tvb(offset, there) or nil
end

-- The bits that are set, as runs: "0-3 7"; bit i is bit i % 32 of the big-endian word i / 32. Of
-- those that a packet says it has, only what is there is looked at.
local function runs_of_bits(range, bits)
	local out, first = {}, nil
	bits = math.min(bits, range:len() * 8)
	for i = 0, bits do
		local word = math.floor(i / 32) * 4
		local set = i < bits and word + 4 <= range:len() and
			has(range(word, 4):uint(), 2 ^ (i % 32))
		if set and not first then
			first = i
		elseif not set and first then
			out[#out + 1] = first == i - 1 and first or first .. "-" .. i - 1
			first = nil
		end
		if #out == MAX_SHOWN then
			out[#out + 1] = "..."
			break
		end
	end
	return #out > 0 and table.concat(out, " ") or "none"
end

-- Where each member is: its first byte and how many it has; and the bytes of the structure.
local places, struct_bytes = {}, {}
for name, members in pairs(STRUCTS) do
	local offset = 0
	places[name] = {}
	for _, m in ipairs(members) do
		places[name][m[1]] = { offset, m[2] }
		offset = offset + m[2] * (m.times or 1)
	end
	struct_bytes[name] = offset
end

-- get BODY "STRUCT" "MEMBER" [N]: the N-th of its values, from 0 on
local function get(body, name, member, n)
	local place = places[name][member]
	return body(place[1] + (n or 0) * place[2], place[2])
end

-- ---- Structures ----

local add_struct

local function add_addr(tree, filter, what)
	local sub = tree:add(f[filter], what)
	local family, port = get(what, "addr", "family"):uint(), get(what, "addr", "port"):uint()
	add_struct(sub, "addr", what, 0)
	if family == 4 then
		sub:add(f["inc.addr.ip"], what(0, 4))
		sub:append_text(": " .. tostring(what(0, 4):ipv4()) .. " port " .. port)
	elseif family == 6 then
		sub:add(f["inc.addr.ip6"], what(0, 16))
		sub:append_text(": " .. tostring(what(0, 16):ipv6()) .. " port " .. port)
	else
		sub:append_text(": none")
	end
end

local function add_desc(tree, filter, what)
	local sub = tree:add(f[filter], what)
	local coll, mode = get(what, "desc", "coll"):uint(), get(what, "desc", "mode")
	add_struct(sub, "desc", what, 0)
	for _, name in ipairs({ "saturate", "counts", "part", "counts_phase" }) do
		sub:add(f["inc.desc.mode." .. name], mode)
	end
	if coll == 0 then
		sub:append_text(": none")
		return
	end
	sub:append_text(string.format(": %s of %s %s, %s, root %d", collectives[coll] or coll,
		tostring(get(what, "desc", "count"):uint64()),
		types[get(what, "desc", "type"):uint()] or "?",
		ops[get(what, "desc", "op"):uint()] or "?", get(what, "desc", "root"):uint()))
end

-- The names whose bits are set, of those that a list has.
local function names_of(bits, list)
	local names = {}
	for i = 1, 31 do
		if math.floor(bits / 2 ^ i) % 2 == 1 then
			names[#names + 1] = list[i] or tostring(i)
		end
	end
	return names
end

local function add_kinds(tree, filter, what)
	local sub = tree:add(f[filter], what)
	add_struct(sub, "kinds", what, 0)
	local names = names_of(get(what, "kinds", "types"):uint(), types)
	for _, name in ipairs(names_of(get(what, "kinds", "ops"):uint(), ops)) do
		names[#names + 1] = name
	end
	sub:append_text(": " .. (#names > 0 and table.concat(names, ", ") or "nothing"))
end

local function add_member(tree, filter, m, what)
	if m.how == "addr" then
		add_addr(tree, filter, what)
	elseif m.how == "kinds" then
		add_kinds(tree, filter, what)
	elseif m.how == "desc" then
		add_desc(tree, filter, what)
	else
		local item = tree:add(f[filter], what)
		if m.how == "zero" and not all_zeros(what) then
			item:add_proto_expert_info(e.zeros, m[1] .. ": expected zeros")
		elseif m.how == "none" and what:uint() == NOBODY then
			item:append_text(" (none)")
		elseif m.unit then
			item:append_text(m.unit)
		end
	end
end

-- add_struct TREE NAME TVB OFFSET: the members that the capture has; the offset behind them
add_struct = function(tree, name, tvb, offset)
	for _, m in ipairs(STRUCTS[name]) do
		for _ = 1, m.times or 1 do
			if offset + m[2] > tvb:len() then
				tree:add_proto_expert_info(e.cut)
				return offset
			end
			add_member(tree, "inc." .. name .. "." .. m[1], m, tvb(offset, m[2]))
			offset = offset + m[2]
		end
	end
	return offset
end

-- add_bitmap TREE FILTER BODY OFFSET BITS: the offset behind it, and whether all of it is there
local function add_bitmap(tree, filter, body, offset, bits)
	local bytes = math.floor((bits + 31) / 32) * 4
	local there = captured(body, offset, bytes)
	if there then
		local item = tree:add(f[filter], there)
		item:append_text(" (" .. runs_of_bits(there, bits) .. ")")
	end
	if offset + bytes > body:len() then
		tree:add_proto_expert_info(e.body, string.format(
			"a bitmap of %d bits takes %d bytes, there are %d", bits, bytes,
			there and there:len() or 0))
	end
	return math.min(offset + bytes, body:len()), offset + bytes <= body:len()
end

-- ---- Bodies ----
--
-- after.TYPE(tree, body, offset, p): what follows the structure; returns the offset behind it. Only
-- called when all of the structure is there. p is the header.

local after = {}

local function say_rank(rank)
	return rank == NOBODY and "nobody" or "rank " .. rank
end

function after.PROBE(tree, body, offset, p)
	if has(p.flags, 0x10) then
		tree:add_proto_expert_info(e.missing,
			"results from block " .. p.psn .. " on are missing")
	end
	return add_bitmap(tree, "inc.probe.bitmap", body, offset, get(body, "probe", "bits"):uint())
end

function after.STATUS(tree, body, offset, p)
	local rank, ms = get(body, "status", "waiting"):uint(), get(body, "status", "waited"):uint()
	if rank ~= NOBODY and ms >= 1000 then
		tree:add_proto_expert_info(e.late,
			string.format("block %d waits for rank %d for %d ms", p.psn, rank, ms))
	end
	p.says = string.format("waits for %s for %d ms", say_rank(rank), ms)
	return add_bitmap(tree, "inc.status.bitmap", body, offset,
		get(body, "status", "bits"):uint())
end

-- Which stripe of how many it is about.
local function add_stripe(tree, packet, late_policy)
	tree:add(f["inc." .. packet .. ".stripe"], late_policy)
	tree:add(f["inc." .. packet .. ".stripes"], late_policy)
	local code = math.floor(late_policy:uint() / 4)
	return code > 0 and string.format(", stripe %d of %d", code % 8,
		math.floor(code / 8) + 1) or ""
end

-- Which ranks are below a node, and where rank 0's host is; also whether that is all there.
local function add_below(tree, body, offset, size)
	local whole
	offset, whole = add_bitmap(tree, "inc.join.ranks", body, offset, size)
	if not whole then
		return offset, false
	end
	if offset + 20 > body:len() then
		tree:add_proto_expert_info(e.body, "the address of rank 0's host is missing")
		return offset, false
	end
	add_addr(tree, "inc.join.host", body(offset, 20))
	return offset + 20, true
end

function after.JOIN(tree, body, offset, p)
	local below, size = get(body, "join", "below"), get(body, "join", "size"):uint()
	tree:add(f["inc.join.below.height"], below)
	for _, name in ipairs({ "shrink", "canonical", "many_parts", "rebind", "kinds" }) do
		tree:add(f["inc.join.flags." .. name], get(body, "join", "flags"))
	end
	for _, name in ipairs({ "return", "tree_order", "ask", "stale" }) do
		tree:add(f["inc.join.below." .. name], below)
	end
	p.says = string.format("%s %d of %d%s%s",
		below:uint() % 16 > 0 and "node for rank" or "rank", p.child, size,
		add_stripe(tree, "join", get(body, "join", "late_policy")),
		all_zeros(get(body, "join", "challenge")) and "" or ", challenged")
	local whole = true
	if below:uint() % 16 > 0 then
		offset, whole = add_below(tree, body, offset, size)
	end
	if not whole or not has(get(body, "join", "flags"):uint(), 0x10) then
		return offset
	end
	return add_struct(tree, "join_kinds", body, offset)
end

function after.WAIT(_, body, offset, p)
	p.says = string.format("%d have joined, missing %s", get(body, "wait", "joined"):uint(),
		say_rank(get(body, "wait", "missing"):uint()))
	return offset
end

-- Who asks what a node is gets that behind the challenge.
function after.CHALLENGE(tree, body, offset, p)
	if offset == body:len() then
		return offset
	end
	p.says = "what the node is"
	return add_struct(tree, "about", body, offset)
end

function after.READY(tree, body, offset, p)
	local height = get(body, "ready", "height")
	tree:add(f["inc.ready.height.levels"], height)
	tree:add(f["inc.ready.height.tree_order"], height)
	tree:add(f["inc.ready.height.kinds"], height)
	add_stripe(tree, "ready", get(body, "ready", "late_policy"))
	p.says = string.format("rank %d of %d, window %d, block %d",
		get(body, "ready", "rank"):uint(), get(body, "ready", "size"):uint(),
		get(body, "ready", "window"):uint(), get(body, "ready", "block"):uint())
	if not has(height:uint(), 0x40) then
		return offset
	end
	if offset + 8 > body:len() then
		tree:add_proto_expert_info(e.body, "what is not reduced is missing")
		return offset
	end
	add_kinds(tree, "inc.ready.lacks", body(offset, 8))
	return offset + 8
end

function after.REFUSE(tree, body, offset, p)
	local number_of = get(body, "refuse", "code"):uint()
	local code = refuse_codes[number_of]
	p.says = string.format("%s, detail %s", code or number_of,
		tostring(get(body, "refuse", "detail"):uint64()))
	tree:add_proto_expert_info(e.refuse,
		"REFUSE: " .. p.says .. ": " .. (refuse_texts[code] or "unknown reason"))
	return offset
end

-- What an error says of whom.
local function say_error(body)
	local number_of = get(body, "error", "code"):uint()
	local code = error_codes[number_of]
	local ranks = {}
	for i = 0, 1 do
		local rank = get(body, "error", "rank", i):uint()
		if rank ~= NOBODY then
			ranks[#ranks + 1] = tostring(rank)
		end
	end
	return code or tostring(number_of),
		(#ranks > 0 and "rank " .. table.concat(ranks, ", ") .. ": " or "") ..
		(error_texts[code] or "unknown error")
end

function after.ERROR(tree, body, offset, p)
	local code, text = say_error(body)
	local resume = get(body, "error", "resume"):uint()
	p.says = code .. (resume == 0 and ", the group is over" or
		", goes on with operation " .. resume)
	tree:add_proto_expert_info(e.error, "ERROR: " .. p.says .. ": " .. text)
	return offset
end

function after.ABORT(tree, body, offset, p)
	local code, text = say_error(body)
	local done = code == "NONE" or code == "LEFT" and has(p.flags, 0x20)
	p.says = code
	tree:add_proto_expert_info(done and e.done or e.abort, "ABORT: " .. code .. ": " .. text)
	return offset
end

function after.MOVE(_, body, offset, p)
	p.says = "move " .. get(body, "move", "move"):uint()
	return offset
end

function after.PEERS(tree, body, offset, p)
	local first, n = get(body, "peers", "first"):uint(), get(body, "peers", "n"):uint()
	local multicast = has(p.flags, 0x1000)
	if multicast then
		p.says = first == 0 and "multicast group" or "multicast, call " .. first
	else
		p.says = string.format("ranks %d-%d", first, first + n - 1)
	end
	for i = 0, n - 1 do
		if offset + 28 > body:len() then
			tree:add_proto_expert_info(e.body,
				string.format("%d ranks, there are %d", n, i))
			break
		end
		local peer = tree:add(f["inc.peers.peer"], body(offset, 28))
		if not multicast then
			peer:add(f["inc.peer.rank"], body(offset, 28), first + i):set_generated()
			peer:append_text(": rank " .. first + i)
		end
		offset = add_struct(peer, "peer", body(offset, 28):tvb(), 0) + offset
	end
	return offset
end

function after.PARTIAL(tree, body, offset, p)
	local set = get(body, "partial", "set"):uint()
	p.says = "set " .. set
	if set == 0 then
		tree:add_proto_expert_info(e.body, "set 0: expected another number")
	end
	return add_bitmap(tree, "inc.partial.bitmap", body, offset,
		get(body, "partial", "bits"):uint())
end

-- Shortest body of each control packet.
local function shortest_body(type_name)
	return BODIES[type_name] and struct_bytes[BODIES[type_name]] or 0
end

local function add_body(tree, body, p)
	local name = packet_types[p.pkt_type]
	local offset = 0
	if BODIES[name] then
		offset = add_struct(tree, BODIES[name], body, 0)
		if offset < struct_bytes[BODIES[name]] then
			return
		end
		if after[name] then
			offset = after[name](tree, body, offset, p)
		end
	end
	-- PROBE is padded so that it may be answered by a REFUSE.
	if offset < body:len() then
		local rest = body(offset)
		local item = tree:add(f["inc.rest"], rest)
		if name ~= "PROBE" or not all_zeros(rest) then
			item:add_proto_expert_info(e.body,
				rest:len() .. " bytes behind what the packet has")
		end
	end
end

-- ---- Elements ----

local function float(r) return string.format("%.7g", r:le_float()) end
local function signed(r) return tostring(r:le_int()) end
local function unsigned(r) return tostring(r:le_uint()) end

-- of a block of 32 values its scale
local function scale(r)
	return r(0, 1):uint() == 255 and "NaN" or string.format("2^%d", r(0, 1):uint() - 127)
end

-- bytes, how one is printed
local READERS = {
	i8 = { 1, signed }, i16 = { 2, signed }, i32 = { 4, signed },
	i64 = { 8, function(r) return tostring(r:le_int64()) end },
	u8 = { 1, unsigned }, u16 = { 2, unsigned }, u32 = { 4, unsigned }, bool = { 1, unsigned },
	u64 = { 8, function(r) return tostring(r:le_uint64()) end },
	f32 = { 4, float },
	f64 = { 8, function(r) return string.format("%.16g", r:le_float()) end },
	mxf8e4m3 = { 33, scale }, mxf8e5m2 = { 33, scale }, mxf4e2m1 = { 17, scale }, mxi8 = { 33, scale },
}
local WIDE = {
	i8 = "i32", i16 = "i32", u8 = "i32", u16 = "i32",
	f16 = "f32", bf16 = "f32", f8e4m3 = "f32", f8e5m2 = "f32",
	mxf8e4m3 = "f32", mxf8e5m2 = "f32", mxf4e2m1 = "f32", mxi8 = "f32",
}

local function add_payload(tree, payload, p)
	local name = types[p.type]
	local reader = READERS[has(p.flags, 0x200) and WIDE[name] or name]
	local item = tree:add(f["inc.payload"], payload)
	local shown, n = {}, 0
	if not reader then
		return
	end
	n = math.floor(payload:len() / reader[1])
	for i = 0, math.min(n, MAX_SHOWN) - 1 do
		shown[#shown + 1] = reader[2](payload(i * reader[1], reader[1]))
	end
	if n > MAX_SHOWN then
		shown[#shown + 1] = "..."
	end
	item:add(f["inc.elements"], payload, table.concat(shown, " ")):set_generated()
end

-- ---- The header ----

local function read_header(h)
	return {
		pkt_type = h(0, 1):uint() % 16, part = h(1, 1):uint(), flags = h(2, 2):uint(),
		group = h(4, 4):uint(), incarnation = h(8, 4):uint(), epoch = h(12, 4):uint(),
		psn = h(16, 4):uint(), tree = h(20, 2):uint(), child = h(22, 2):uint(),
		span = h(24, 2):uint(), len = h(26, 2):uint(), opseq = h(28, 4):uint(),
		type = h(36, 1):uint(), op = h(37, 1):uint(), mode = h(38, 1):uint(),
		resv = h(39, 1):uint(), tstamp = h(36, 4):uint(),
	}
end

local function is_data(p)
	return p.pkt_type == 1 or p.pkt_type == 2
end

-- Why a receiver drops what is well-formed but for this: as netinc_check_data() in
-- kernel/engine/wire.h.
local function data_fault(p)
	local payload = has(p.flags, 0x1)
	if p.mode > MODE_SATURATE then
		return "mode " .. p.mode .. ": expected 0 or 1"
	elseif p.resv ~= 0 then
		return "the reserved byte is not 0"
	elseif not types[p.type] then
		return "type " .. p.type .. " is not known"
	elseif not ops[p.op] then
		return "operation " .. p.op .. " is not known"
	elseif has(p.flags, 0x100) and p.pkt_type ~= 2 then
		return "PARTIAL: expected in results only"
	elseif has(p.flags, 0x200) and (p.pkt_type ~= 1 or not payload) then
		return "WIDE: expected in contributions with payload only"
	elseif has(p.flags, 0x400) and (p.pkt_type ~= 1 or p.span ~= 1 or has(p.flags, 0x4) or
			has(p.flags, 0x20)) then
		return "PART: expected in contributions of one block, without FINAL and LEAVE"
	elseif p.part ~= 0 and not has(p.flags, 0x400) then
		return "part " .. p.part .. ": expected 0 without PART"
	elseif payload ~= (p.len ~= 0) then
		return "PAYLOAD: expected if and only if there are elements"
	elseif has(p.flags, 0x4) and not payload then
		return "FINAL: expected with payload"
	elseif has(p.flags, 0x800) and (not payload or has(p.flags, 0x4) or has(p.flags, 0x8)) then
		return "ZERO: expected with PAYLOAD, without FINAL and descriptor"
	elseif ((payload and not has(p.flags, 0x800)) or has(p.flags, 0x8)) and p.span ~= 1 then
		return p.span .. " blocks: expected one, with payload or descriptor"
	end
end

local function unknown_flag(flags)
	for bit = 0, 15 do
		if has(flags, 2 ^ bit) and not has(KNOWN_FLAGS, 2 ^ bit) then
			return true
		end
	end
end

-- Why a receiver drops this, but for the length of the datagram: as netinc_parse() there.
local function header_fault(p)
	local name = packet_types[p.pkt_type]
	if not name then
		return "packet type " .. p.pkt_type .. " is not known"
	elseif unknown_flag(p.flags) then
		return string.format("flags 0x%04x: one is not known", p.flags)
	elseif p.span == 0 then
		return "0 blocks: expected one or more"
	elseif p.len > MAX_BLOCK then
		return p.len .. " bytes: expected at most " .. MAX_BLOCK
	elseif has(p.flags, 0x1000) and name ~= "PROBE" and name ~= "PEERS" then
		return "MULTICAST: expected in PROBE and PEERS only"
	elseif is_data(p) then
		return data_fault(p)
	elseif p.len < shortest_body(name) then
		return p.len .. " bytes: expected at least " .. shortest_body(name)
	elseif has(p.flags, 0x8) then
		return "descriptor: expected in contributions and results only"
	elseif has(p.flags, 0x800) then
		return "ZERO: expected in contributions and results only"
	end
end

local function add_header(tree, h, p)
	local flags
	for _, x in ipairs({ { "version", 0, 1 }, { "pkt_type", 0, 1 }, { "part", 1, 1 } }) do
		tree:add(f["inc." .. x[1]], h(x[2], x[3]))
	end
	flags = tree:add(f["inc.flags"], h(2, 2))
	for _, d in ipairs(FLAGS) do
		flags:add(f["inc.flags." .. d[2]], h(2, 2))
		if has(p.flags, d[1]) then
			flags:append_text(" " .. d[2]:upper())
		end
	end
	for _, x in ipairs({ { "group", 4, 4 }, { "incarnation", 8, 4 }, { "epoch", 12, 4 },
			{ "psn", 16, 4 }, { "tree", 20, 2 }, { "child", 22, 2 }, { "span", 24, 2 },
			{ "len", 26, 2 }, { "opseq", 28, 4 }, { "sig", 32, 4 } }) do
		tree:add(f["inc." .. x[1]], h(x[2], x[3]))
	end
	if is_data(p) then
		tree:add(f["inc.type"], h(36, 1))
		tree:add(f["inc.op"], h(37, 1))
		tree:add(f["inc.mode"], h(38, 1)):add(f["inc.mode.saturate"], h(38, 1))
		tree:add(f["inc.resv"], h(39, 1))
	else
		tree:add(f["inc.tstamp"], h(36, 4))
	end
	tree:add(f["inc.cookie"], h(40, 8))
end

-- ---- What other frames say ----

local function key_of(p, ...)
	return table.concat({ p.group, p.incarnation, p.epoch, p.tree, p.child, ... }, ".")
end

-- What is known of this packet from those before it, found out once.
local function look_back(p, pinfo, at)
	local key, known = pinfo.number .. "." .. at, nil
	if pinfo.visited then
		return found[key] or {}
	end
	known = {}
	if p.pkt_type == 1 then
		local mine = key_of(p, p.psn, p.part, tostring(pinfo.src))
		known.first = contributions[mine]
		contributions[mine] = contributions[mine] or pinfo.number
	elseif p.pkt_type == 3 then
		probes[key_of(p, p.tstamp)] = { pinfo.number, pinfo.abs_ts }
	elseif p.pkt_type == 4 then
		known.probe = probes[key_of(p, p.tstamp)]
	end
	found[key] = known
	return known
end

local function add_context(tree, p, pinfo, at)
	local known = look_back(p, pinfo, at)
	if known.first then
		tree:add(f["inc.first_in"], known.first):set_generated()
	end
	if known.probe then
		local delta = math.max(pinfo.abs_ts - known.probe[2], 0)
		tree:add(f["inc.probe_in"], known.probe[1]):set_generated()
		tree:add(f["inc.time"], NSTime.new(math.floor(delta),
			math.floor(delta % 1 * 1e9 + 0.5))):set_generated()
	end
	if has(p.flags, 0x10) and p.pkt_type ~= 3 then
		tree:add_proto_expert_info(e.retrans,
			"sent again" .. (known.first and ", first in frame " .. known.first or ""))
	elseif known.first then
		tree:add_proto_expert_info(e.twice, "without RETRANS also in frame " ..
			known.first .. ": captured at two interfaces, or duplicated on the way")
	end
end

local function add_events(tree, p)
	if p.pkt_type == 5 then
		tree:add_proto_expert_info(e.missing, string.format(
			"blocks %d-%d of child %d are missing", p.psn, p.psn + p.span - 1, p.child))
	end
	if has(p.flags, 0x40) or has(p.flags, 0x80) then
		tree:add_proto_expert_info(e.congestion)
	end
	if p.pkt_type == 2 and has(p.flags, 0x100) then
		tree:add_proto_expert_info(e.partial, "not of all ranks: set " .. p.child)
	end
end

-- ---- One line ----

local function blocks_of(p)
	return p.span > 1 and string.format("blocks %d-%d", p.psn, p.psn + p.span - 1) or
		"block " .. p.psn
end

local function one_line(p)
	local line = string.format("%s group %d", packet_types[p.pkt_type] or p.pkt_type, p.group)
	if p.pkt_type ~= 2 and p.pkt_type ~= 6 and p.pkt_type ~= 15 then
		line = line .. " child " .. p.child
	end
	if is_data(p) then
		line = line .. " " .. blocks_of(p)
		if p.len > 0 then
			line = string.format("%s, %s %s, %d bytes%s", line, types[p.type] or "?",
				ops[p.op] or "?", p.len, has(p.flags, 0x800) and " of zeros" or "")
		end
	elseif p.pkt_type >= 3 and p.pkt_type <= 5 then
		line = line .. " " .. blocks_of(p)
	end
	return line .. (p.says and ", " .. p.says or "") ..
		(has(p.flags, 0x10) and " [RETRANS]" or "")
end

-- ---- Packets and datagrams ----

-- Bytes of payload or body that are in the packet.
local function sent_len(p)
	return has(p.flags, 0x800) and 0 or p.len
end

-- Of the packet at OFFSET in a datagram of TOTAL bytes: how many it takes, and whether another one
-- follows that was to be cut off from it: a header of the same packet type, group and epoch.
local function extent(tvb, offset, total, p)
	local bytes = HEADER + (has(p.flags, 0x8) and DESCRIPTOR or 0) + padded(sent_len(p))
	local behind = offset + bytes
	if behind + HEADER > total or behind + 16 > tvb:len() then
		return bytes, false
	end
	return bytes, tvb(behind, 1):uint() == tvb(offset, 1):uint() and
		tvb(behind + 4, 12):bytes() == tvb(offset + 4, 12):bytes()
end

local function add_data(tree, tvb, offset, p)
	local desc = has(p.flags, 0x8) and captured(tvb, offset, DESCRIPTOR)
	local payload
	if has(p.flags, 0x8) then
		if desc and desc:len() == DESCRIPTOR then
			add_desc(tree, "inc.desc", desc)
		end
		offset = offset + DESCRIPTOR
	end
	payload = captured(tvb, offset, sent_len(p))
	if payload then
		add_payload(tree, payload, p)
	end
	return offset + sent_len(p)
end

local function add_padding(tree, tvb, offset, p)
	local padding = captured(tvb, offset, padded(sent_len(p)) - sent_len(p))
	if padding then
		local item = tree:add(f["inc.padding"], padding)
		if not all_zeros(padding) then
			item:add_proto_expert_info(e.zeros, "padding: expected zeros")
		end
	end
end

-- add_packet: takes apart what is at OFFSET, returns what stands in the line and how many bytes it
-- has, nil if there is no more.
local function add_packet(tvb, pinfo, root, offset, total)
	local tree = root:add(inc, tvb(offset))
	local version, p, fault, bytes, more
	if total - offset < HEADER then
		tree:add(f["inc.rest"], tvb(offset))
		tree:add_proto_expert_info(e.malformed,
			(total - offset) .. " bytes: expected at least " .. HEADER)
		return "[malformed]"
	end
	version = math.floor(tvb(offset, 1):uint() / 16)
	if version ~= VERSION then
		tree:add(f["inc.version"], tvb(offset, 1)):add_proto_expert_info(e.version,
			"version " .. version .. ": expected " .. VERSION)
		return "[version " .. version .. "]"
	end
	if tvb:len() - offset < HEADER then
		tree:add_proto_expert_info(e.cut)
		return "[cut off]"
	end
	p = read_header(tvb(offset, HEADER))
	add_header(tree, tvb(offset, HEADER), p)
	bytes, more = extent(tvb, offset, total, p)
	fault = header_fault(p)
	if not fault and not more and offset + bytes ~= total then
		fault = string.format("%d bytes: its header says %d", total - offset, bytes)
	end
	if fault then
		local rest = captured(tvb, offset + HEADER, total - offset - HEADER)
		if rest then
			tree:add(f["inc.rest"], rest)
		end
		tree:add_proto_expert_info(e.malformed, fault)
		return one_line(p) .. " [malformed]"
	end
	tree:set_len(math.min(bytes, tvb:len() - offset))
	if offset + bytes > tvb:len() then
		tree:add_proto_expert_info(e.cut)
	end
	if is_data(p) then
		add_padding(tree, tvb, add_data(tree, tvb, offset + HEADER, p), p)
	else
		local body = captured(tvb, offset + HEADER, p.len)
		if body then
			add_body(tree, body:tvb(), p)
		end
		add_padding(tree, tvb, offset + HEADER + p.len, p)
	end
	add_context(tree, p, pinfo, offset)
	add_events(tree, p)
	tree:append_text(", " .. one_line(p))
	return one_line(p), more and bytes or nil
end

local function add_checksum(tree)
	local sum, status = udp_checksum(), udp_status()
	if sum and sum.value == 0 then
		tree:add_proto_expert_info(e.checksum, "there is no UDP checksum")
	elseif status and status.value == 0 then
		tree:add_proto_expert_info(e.checksum, "the UDP checksum is wrong")
	end
end

function inc.dissector(tvb, pinfo, root)
	local total, offset, n = tvb:reported_len(), 0, 0
	local lines = {}
	pinfo.cols.protocol = "INC"
	if tvb:len() == 0 then
		return 0
	end
	repeat
		local line, bytes = add_packet(tvb, pinfo, root, offset, total)
		n = n + 1
		lines[math.min(n, 2)] = line
		offset = bytes and offset + bytes
	until not offset or offset >= tvb:len()
	add_checksum(root)
	if n > 1 then
		root:add_proto_expert_info(e.run,
			n .. " packets, captured before segmentation or after aggregation")
		lines[1] = n .. " packets: " .. lines[1] .. " .. "
	end
	pinfo.cols.info = table.concat(lines)
	return tvb:len()
end

register_port()
