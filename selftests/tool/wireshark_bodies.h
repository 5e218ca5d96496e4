/* SPDX-License-Identifier: GPL-2.0-only */
/* Right packets of every type, for wireshark_packets.c, and what is said of their fields. */
#ifndef INC_WIRESHARK_BODIES_H
#define INC_WIRESHARK_BODIES_H

#include "wireshark_capture.h"

/* The header, to be changed; behind it there is nothing but zeros. */
void begin_packet(struct netinc_pkt *p, u8 type);
void say_header(const struct netinc_pkt *p);
/* The header comes before the body. */
void end_packet(const struct netinc_pkt *p);
void *body(void);

/* These return the length of the body. */
u32 fill_status(struct inc_status *status, u32 waited);
/* @height: 0 of a rank, else of a node for ranks 0 and 33..35 of 40 */
u32 fill_join(struct inc_join *join, u8 height);
u32 fill_refuse(struct inc_refuse *refuse, u16 code);
u32 fill_error(struct inc_error_pkt *error, u8 type, u16 code);
u32 fill_peers(struct inc_peers *peers);

/* A right packet, in the datagram. */
void make_right(struct netinc_pkt *p, u8 type);

#endif
