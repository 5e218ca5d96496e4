/* SPDX-License-Identifier: GPL-2.0-only */
/* A network of 64 inputs, one layer of HIDDEN rectified units and 10 outputs (softmax). */
#ifndef DEMO_MODEL_H
#define DEMO_MODEL_H

#include "data.h"

#define HIDDEN	32

struct model {
	float w1[PIXELS][HIDDEN];
	float b1[HIDDEN];
	float w2[HIDDEN][CLASSES];
	float b2[CLASSES];
};

/* What is summed over the ranks: the gradient, and the loss because one wants to see it. */
struct gradient {
	struct model d;
	float loss;
};

#define GRADIENT_COUNT (sizeof(struct gradient) / sizeof(float))

void model_init(struct model *model, uint32_t seed);

/* Adds the gradient of one sample to @g. */
void model_backward(const struct model *model, const float *pixels, unsigned int digit,
		    struct gradient *g);

/* One step down the mean gradient of @batch samples, with momentum. */
void model_update(struct model *model, struct model *momentum, const struct gradient *g,
		  unsigned int batch, float rate);

/* Correct answers in @samples. */
unsigned int model_correct(const struct model *model, const struct samples *samples);

#endif
