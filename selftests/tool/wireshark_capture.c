// SPDX-License-Identifier: GPL-2.0-only
/* The capture of wireshark_packets.c, frame by frame, and what is said of each. */
#include <stdarg.h>

#include "wireshark_capture.h"

u32 frame;
u8 datagram[MAX_DATAGRAM];
u32 datagram_len;
bool quiet;

static FILE *capture;
static u32 numbers = 0x01020304;

u32 number(void)
{
	numbers += 0x11131719;
	return numbers;
}

void say(const char *filter, u64 value)
{
	if (!quiet)
		printf("field\t%u\t%s\t%llu\n", frame + 1, filter,
		       (unsigned long long)value);
}

void say_text(const char *filter, const char *text)
{
	if (!quiet)
		printf("field\t%u\t%s\t%s\n", frame + 1, filter, text);
}

void remark(const char *filter, const char *format, ...)
{
	va_list args;

	printf("expert\t%u\tinc.expert.%s\t", frame + 1, filter);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static u32 sum16(const u8 *data, u32 len, u32 sum)
{
	u32 i;

	for (i = 0; i + 1 < len; i += 2)
		sum += data[i] << 8 | data[i + 1];
	return len % 2 ? sum + (data[len - 1] << 8) : sum;
}

static u16 fold16(u32 sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static void put16(u8 *at, u32 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

/* The link type is that of IP without one. */
void write_frame(enum checksum how, u32 captured)
{
	static const u8 ip[20] = {
		0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 254,
	};
	static u8 packet[28 + MAX_DATAGRAM];
	u32 len = 28 + datagram_len;
	u32 record[4] = { frame, frame * 1000 % 1000000, min(captured + 28, len), len };
	u32 sum;

	memcpy(packet, ip, sizeof(ip));
	put16(packet + 2, len);
	put16(packet + 10, fold16(sum16(packet, 20, 0)));
	put16(packet + 20, INC_SPORT_BASE);
	put16(packet + 22, INC_PORT);
	put16(packet + 24, len - 20);
	put16(packet + 26, 0);
	memcpy(packet + 28, datagram, datagram_len);
	sum = fold16(sum16(packet + 12, len - 12, 17 + len - 20));
	put16(packet + 26, how == NONE ? 0 : how == WRONG ? sum ^ 1 : sum ? sum : 0xffff);
	fwrite(record, sizeof(record), 1, capture);
	fwrite(packet, record[2], 1, capture);
	frame++;
}

void send_datagram(void)
{
	write_frame(RIGHT, MAX_DATAGRAM);
}

void send_clean(void)
{
	printf("clean\t%u\n", frame + 1);
	send_datagram();
}

void send_judged(void)
{
	struct netinc_pkt p;
	int err = netinc_parse(datagram, datagram_len, &p);

	printf("parse\t%u\t%s\n", frame + 1, !err ? "0" :
	       err == -INC_C_DROP_VERSION ? "version" : "malformed");
	send_datagram();
}

void begin_capture(const char *path)
{
	static const u32 head[6] = { 0xa1b2c3d4, 2 | 4 << 16, 0, 0, 1 << 18, 101 };

	capture = fopen(path, "w");
	if (!capture) {
		perror(path);
		exit(1);
	}
	fwrite(head, sizeof(head), 1, capture);
}

bool end_capture(void)
{
	return !fclose(capture);
}
