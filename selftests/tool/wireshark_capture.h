/* SPDX-License-Identifier: GPL-2.0-only */
/* The capture of wireshark_packets.c, frame by frame, and what is said of each. */
#ifndef INC_WIRESHARK_CAPTURE_H
#define INC_WIRESHARK_CAPTURE_H

#include "engine/engine.h"

#define MAX_DATAGRAM	65000

enum checksum { RIGHT, NONE, WRONG };

extern u32 frame;		/* frames that have been written */
extern u8 datagram[MAX_DATAGRAM];	/* that of the next one */
extern u32 datagram_len;
/* What the functions that fill packets say is not so, since these are changed then. */
extern bool quiet;

/* Numbers that are not alike, in any of their bytes. */
u32 number(void);

/* About the next frame: see wireshark_packets.c. */
void say(const char *filter, u64 value);
void say_text(const char *filter, const char *text);
void remark(const char *filter, const char *format, ...);

void begin_capture(const char *path);
/* False: not all of it could be written. */
bool end_capture(void);
/* An IPv4 packet around the datagram, of which so many bytes are captured. */
void write_frame(enum checksum how, u32 captured);
void send_datagram(void);
/* Nothing is to be remarked. */
void send_clean(void);
/* As netinc_parse() sees it. */
void send_judged(void);

#endif
