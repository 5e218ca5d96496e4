// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Keys: hex digits, or a file with them that only its owner may read, or root's with a group that
 * may. A command line can be read by every user of the machine, and stays in the shell's history.
 * The tool has this file, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "internal.h"

#define DIGITS	(2 * INC_KEY_LEN)

bool inc_key_hex(uint8_t *key, const char *hex)
{
	char byte[3] = "";

	if (strlen(hex) != DIGITS || strspn(hex, "0123456789abcdefABCDEF") != DIGITS)
		return false;
	for (int i = 0; i < INC_KEY_LEN; i++) {
		memcpy(byte, hex + 2 * i, 2);
		key[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return true;
}

bool inc_key_zero(const uint8_t *key)
{
	static const uint8_t zeros[INC_KEY_LEN];

	return !memcmp(key, zeros, sizeof(zeros));
}

static int check_file(const struct stat *st, char *why, size_t len)
{
	if (!S_ISREG(st->st_mode)) {
		snprintf(why, len, "expected a regular file");
		return -EINVAL;
	}
	if (st->st_uid && st->st_uid != geteuid()) {
		snprintf(why, len, "its owner is user %u: expected this one, or root", st->st_uid);
		return -EPERM;
	}
	/* root gives a key to a group: systemd's credentials, Kubernetes' fsGroup */
	if (!st->st_uid && st->st_mode & 037) {
		snprintf(why, len, "its mode is %04o: expected 0640 or 0600 of a file of root",
			 st->st_mode & 07777);
		return -EPERM;
	}
	if (st->st_uid && st->st_mode & 077) {
		snprintf(why, len, "its mode is %04o: expected 0600, so that only its owner can read it",
			 st->st_mode & 07777);
		return -EPERM;
	}
	return 0;
}

int inc_key_read(uint8_t *key, const char *path, char *why, size_t len)
{
	/* a FIFO is not waited for */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), ret;
	char text[DIGITS + 2];
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		ret = -errno;
		snprintf(why, len, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return ret;
	}
	ret = check_file(&st, why, len);
	n = ret ? 0 : read(fd, text, sizeof(text));
	if (n < 0) {
		ret = -errno;
		snprintf(why, len, "%s", strerror(errno));
	} else if (!ret) {
		if (n && text[n - 1] == '\n')
			n--;
		text[n < DIGITS ? n : DIGITS] = 0;
		if (n != DIGITS || !inc_key_hex(key, text)) {
			snprintf(why, len, "expected %d hex digits on one line", DIGITS);
			ret = -EINVAL;
		} else if (inc_key_zero(key)) {
			snprintf(why, len, "expected a key that is not all zeros");
			ret = -EINVAL;
		}
	}
	close(fd);
	explicit_bzero(text, sizeof(text));
	return ret;
}
