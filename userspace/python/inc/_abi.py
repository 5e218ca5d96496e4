# SPDX-License-Identifier: LGPL-2.1-or-later
"""
libinc as ctypes sees it: the enums and structs of inc.h, linux/inc.h and linux/inc_socket.h, and the library.

selftests/tool/python_abi.c and python_inc.py compare all of this with the headers.
"""
import ctypes as c
import enum
import os

MAX_RANKS = 4096
MAX_STRIPES = 8
MX_VALUES = 32  # of a block
MAX_COUNT = 0xFFFFFFFF
KEY_LEN = 16
MODE_SATURATE = 1
MODE_COUNTS = 2
REGISTER_WRITE = 1
NO_RANK = 0xFFFFFFFF
ERR_MISMATCH = 1  # of enum inc_err_code, those that are about two ranks
ERR_COUNTS = 11
IN_PLACE = c.c_void_p(-1).value or 0


class Coll(enum.IntEnum):
    """enum inc_coll: what applications may ask for."""

    BARRIER = 1
    ALLREDUCE = 2
    REDUCE = 3
    REDUCE_SCATTER = 4
    BROADCAST = 5
    ALLGATHER = 6
    GATHER = 7
    SCATTER = 8
    ALLTOALL = 9
    SCAN = 10
    EXSCAN = 11


class Type(enum.IntEnum):
    """enum inc_type: what elements of a buffer are, and as what they travel. The names are those of `inc caps`."""

    I8 = 1
    I16 = 2
    I32 = 3
    I64 = 4
    U8 = 5
    U16 = 6
    U32 = 7
    U64 = 8
    F16 = 9
    BF16 = 10
    F32 = 11
    F64 = 12
    F8E4M3 = 13
    F8E5M2 = 14
    BOOL = 15
    C32 = 16
    C64 = 17
    I32_I32 = 18
    F32_I32 = 19
    I64_I64 = 20
    F64_I64 = 21
    MXF8E4M3 = 22
    MXF8E5M2 = 23
    MXF4E2M1 = 24
    MXI8 = 25


class Op(enum.IntEnum):
    """enum inc_op: how elements are reduced."""

    SUM = 1
    PROD = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    LAND = 8
    LOR = 9
    LXOR = 10
    MINLOC = 11
    MAXLOC = 12
    AVG = 13
    WSUM = 14


class State(enum.IntEnum):
    """enum inc_member_state: a rank's membership."""

    CLOSED = 0
    JOINING = 1
    WAITING = 2
    READY = 3
    RESYNC = 4
    LEAVING = 5
    FAILED = 6


#: Bytes of an element.
TYPE_SIZE = {
    Type.I8: 1, Type.I16: 2, Type.I32: 4, Type.I64: 8, Type.U8: 1, Type.U16: 2, Type.U32: 4, Type.U64: 8,
    Type.F16: 2, Type.BF16: 2, Type.F32: 4, Type.F64: 8, Type.F8E4M3: 1, Type.F8E5M2: 1, Type.BOOL: 1,
    Type.C32: 8, Type.C64: 16, Type.I32_I32: 8, Type.F32_I32: 8, Type.I64_I64: 16, Type.F64_I64: 16,
    Type.MXF8E4M3: 33, Type.MXF8E5M2: 33, Type.MXF4E2M1: 17, Type.MXI8: 33,
}


class JoinOpts(c.Structure):
    """struct inc_join_opts"""

    _fields_ = [("group", c.c_uint32), ("rank", c.c_uint32), ("size", c.c_uint32), ("timeout_ms", c.c_int),
                ("parent", c.c_char_p), ("key", c.c_char_p), ("job", c.c_uint64), ("order", c.c_char_p),
                ("stripes", c.c_uint32), ("resv0", c.c_uint32), ("resv", c.c_uint64 * 1)]


class Launch(c.Structure):
    """struct inc_launch"""

    _fields_ = [("launcher", c.c_char_p), ("job", c.c_uint64), ("group", c.c_uint32), ("rank", c.c_uint32),
                ("size", c.c_uint32), ("local_rank", c.c_uint32), ("local_size", c.c_uint32), ("derived", c.c_uint32),
                ("resv", c.c_uint64 * 4)]


class Args(c.Structure):
    """struct inc_args"""

    _fields_ = [("coll", c.c_int), ("type", c.c_int), ("op", c.c_int), ("wire", c.c_int), ("mode", c.c_uint32),
                ("root", c.c_uint32), ("count", c.c_uint64), ("send", c.c_void_p), ("recv", c.c_void_p),
                ("send_counts", c.c_void_p), ("send_displs", c.c_void_p), ("recv_counts", c.c_void_p),
                ("recv_displs", c.c_void_p), ("weight", c.c_double), ("resv", c.c_uint64 * 4)]


class Submit(c.Structure):
    """struct inc_submit"""

    _fields_ = [("coll", c.c_uint8), ("type", c.c_uint8), ("op", c.c_uint8), ("wire", c.c_uint8),
                ("mode", c.c_uint8), ("resv0", c.c_uint8 * 3), ("root", c.c_uint32), ("flags", c.c_uint32),
                ("count", c.c_uint64), ("send", c.c_uint64), ("recv", c.c_uint64), ("send_counts", c.c_uint64),
                ("send_displs", c.c_uint64), ("recv_counts", c.c_uint64), ("recv_displs", c.c_uint64),
                ("weight", c.c_uint64), ("user_data", c.c_uint64), ("handle", c.c_uint64), ("send_reg", c.c_uint32),
                ("recv_reg", c.c_uint32)]


class RequestStruct(c.Structure):
    """struct inc_request"""

    _fields_ = [("group", c.c_void_p), ("handle", c.c_uint64), ("result", c.c_int), ("prepared", c.c_uint32),
                ("copy", c.c_void_p), ("submit", Submit), ("ended", c.c_uint64), ("kept", c.c_uint32 * 2),
                ("parts", c.c_void_p), ("resv", c.c_uint64)]


class ErrorDesc(c.Structure):
    """One of struct inc_error_info's two"""

    _fields_ = [("coll", c.c_uint8), ("type", c.c_uint8), ("op", c.c_uint8), ("wire", c.c_uint8),
                ("root", c.c_uint32), ("count", c.c_uint64), ("mode", c.c_uint8), ("resv", c.c_uint8 * 3),
                ("counts", c.c_uint32)]


class ErrorInfo(c.Structure):
    """struct inc_error_info"""

    _fields_ = [("code", c.c_uint16), ("resv", c.c_uint16), ("opseq", c.c_uint32), ("rank", c.c_uint32 * 2),
                ("desc", ErrorDesc * 2)]


class Reduces(c.Structure):
    """struct inc_reduces"""

    _fields_ = [("types", c.c_uint32), ("ops", c.c_uint32)]


class InfoStruct(c.Structure):
    """struct inc_info"""

    _fields_ = [("group", c.c_uint32), ("rank", c.c_uint32), ("size", c.c_uint32), ("state", c.c_uint32),
                ("epoch", c.c_uint32), ("window", c.c_uint32), ("block", c.c_uint32), ("joined", c.c_uint32),
                ("missing", c.c_uint32), ("srtt_us", c.c_uint32), ("submitted", c.c_uint64),
                ("completed", c.c_uint64), ("blocks_sent", c.c_uint64), ("blocks_resent", c.c_uint64),
                ("error", ErrorInfo), ("parent_family", c.c_uint16), ("parent_port", c.c_uint16),
                ("moves", c.c_uint32), ("parent", c.c_uint8 * 16), ("placement", c.c_uint8),
                ("fallback", c.c_uint8), ("order", c.c_uint8), ("stripe", c.c_uint8),
                ("resv", c.c_uint8 * 4), ("lacks", Reduces)]


class SplitOffer(c.Structure):
    """struct inc_split_offer"""

    _fields_ = [("opaque", c.c_uint64 * 8)]


#: The colour of a rank that is in no new group.
NO_COLOUR = -1

#: Ranks of a group as bits: rank % 32 of word rank / 32.
RankSet = c.c_uint32 * (MAX_RANKS // 32)

#: Result and arguments of every function that the package calls.
PROTOTYPES = {
    "inc_abort": (None, [c.c_void_p]),
    "inc_cancel": (c.c_int, [c.c_void_p]),
    "inc_contributed": (c.c_int, [c.c_void_p, c.POINTER(RequestStruct), c.POINTER(c.c_uint32),
                                  c.c_size_t]),
    "inc_errmsg": (c.c_char_p, [c.c_void_p]),
    "inc_fd": (c.c_int, [c.c_void_p]),
    "inc_group_id": (c.c_uint32, [c.c_void_p]),
    "inc_icollective": (c.c_int, [c.c_void_p, c.POINTER(Args), c.POINTER(RequestStruct)]),
    "inc_info": (c.c_int, [c.c_void_p, c.POINTER(InfoStruct)]),
    "inc_join_poll": (c.c_int, [c.c_void_p, c.c_int]),
    "inc_join_start": (c.c_int, [c.POINTER(c.c_void_p), c.POINTER(JoinOpts)]),
    "inc_launcher": (c.c_int, [c.POINTER(Launch)]),
    "inc_leave": (c.c_int, [c.c_void_p]),
    "inc_mx_pack": (c.c_int, [c.c_int, c.c_void_p, c.c_void_p, c.c_size_t]),
    "inc_mx_unpack": (c.c_int, [c.c_int, c.c_void_p, c.c_void_p, c.c_size_t]),
    "inc_rank": (c.c_uint32, [c.c_void_p]),
    "inc_register": (c.c_int, [c.c_void_p, c.c_void_p, c.c_uint64, c.c_uint32, c.POINTER(c.c_uint32)]),
    "inc_shrink": (c.c_int, [c.c_void_p, c.c_int]),
    "inc_size": (c.c_uint32, [c.c_void_p]),
    "inc_split_offer": (c.c_int, [c.c_void_p, c.c_int, c.c_int, c.POINTER(SplitOffer)]),
    "inc_split_start": (c.c_int, [c.POINTER(c.c_void_p), c.c_void_p, c.POINTER(SplitOffer)]),
    "inc_test": (c.c_int, [c.POINTER(RequestStruct)]),
    "inc_unregister": (c.c_int, [c.c_void_p, c.c_uint32]),
    "inc_version": (c.c_char_p, []),
    "inc_wait": (c.c_int, [c.POINTER(RequestStruct), c.c_int]),
    "inc_why": (c.c_int, [c.c_void_p, c.c_int, c.c_int, c.c_int, c.c_uint64, c.c_char_p, c.c_size_t]),
}


def load() -> c.CDLL:
    """libinc.so.0, or the file that the environment's INC_LIBRARY names. ctypes drops the GIL during its calls."""
    name = os.environ.get("INC_LIBRARY") or "libinc.so.0"
    try:
        library = c.CDLL(name)
    except OSError as error:
        raise ImportError(f"inc needs libinc: {error}: install it (make install), or set INC_LIBRARY to the path of "
                          "libinc.so.0") from None
    for function, (result, arguments) in PROTOTYPES.items():
        try:
            entry = getattr(library, function)
        except AttributeError:
            raise ImportError(f"{name} has no {function}(): it is older than this package") from None
        entry.restype, entry.argtypes = result, arguments
    return library


#: libinc, as all modules of the package call it.
lib = load()
