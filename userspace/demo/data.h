/* SPDX-License-Identifier: GPL-2.0-only */
/* The handwritten digits, split into a part to train on and a part to test on. */
#ifndef DEMO_DATA_H
#define DEMO_DATA_H

#include <stdint.h>

#define PIXELS	64
#define CLASSES	10

struct samples {
	unsigned int count;
	float (*pixels)[PIXELS];	/* 0..1 */
	uint8_t *digit;
};

struct data {
	struct samples train, test;
};

/*
 * Every 5th line goes to the test part. Says what is wrong and exits if the file is not as it
 * should be.
 */
void data_load(struct data *data, const char *path);
void data_free(struct data *data);

#endif
