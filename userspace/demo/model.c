// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of the demo. It is written so that every machine and every compiler that keeps to
 * IEEE 754 gets the same bits: sums have one order, there is no libm (its exp() differs between
 * CPUs), and a product and a sum are two roundings (the Makefile says -ffp-contract=off).
 */
#include <string.h>

#include "model.h"

#define PARAMETERS	(sizeof(struct model) / sizeof(float))
#define MOMENTUM	0.9f
#define TINY		(1.0f / (1 << 30))
#define LN2		0.693147180559945309417

/* 2^n for -1022 <= n <= 1023 */
static double power_of_two(int n)
{
	uint64_t bits = (uint64_t)(1023 + n) << 52;
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

/* e^x for x <= 0: a power of two times a series on [-ln2 / 2, ln2 / 2]. */
static float exp_f(float x)
{
	double r, sum = 1;
	int n;

	if (x < -80)
		return 0;
	n = (int)((double)x / LN2 - 0.5);
	r = (double)x - n * LN2;
	for (int i = 9; i > 0; i--)
		sum = 1 + sum * r / i;
	return (float)(sum * power_of_two(n));
}

/* ln(x) for 0 < x <= 1 */
static float log_f(float x)
{
	double m = (double)x, z, sum = 0;
	int n = 0;

	for (; m < 0.7; n--)
		m *= 2;
	z = (m - 1) / (m + 1);
	for (int i = 15; i > 0; i -= 2)
		sum = sum * z * z + 2.0 / i;
	return (float)(sum * z + n * LN2);
}

static float uniform_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return (float)(*state >> 8) / (1 << 23) - 1;
}

void model_init(struct model *model, uint32_t seed)
{
	memset(model, 0, sizeof(*model));
	for (int i = 0; i < PIXELS; i++)
		for (int h = 0; h < HIDDEN; h++)
			model->w1[i][h] = 0.2f * uniform_random(&seed);
	for (int h = 0; h < HIDDEN; h++)
		for (int c = 0; c < CLASSES; c++)
			model->w2[h][c] = 0.3f * uniform_random(&seed);
}

static void forward_pass(const struct model *model, const float *pixels, float hidden[HIDDEN],
			 float out[CLASSES])
{
	memcpy(hidden, model->b1, sizeof(model->b1));
	for (int i = 0; i < PIXELS; i++)
		if (pixels[i] != 0)
			for (int h = 0; h < HIDDEN; h++)
				hidden[h] += pixels[i] * model->w1[i][h];
	memcpy(out, model->b2, sizeof(model->b2));
	for (int h = 0; h < HIDDEN; h++) {
		hidden[h] = hidden[h] > 0 ? hidden[h] : 0;
		if (hidden[h] != 0)
			for (int c = 0; c < CLASSES; c++)
				out[c] += hidden[h] * model->w2[h][c];
	}
}

static unsigned int largest_of(const float out[CLASSES])
{
	unsigned int best = 0;

	for (unsigned int c = 1; c < CLASSES; c++)
		if (out[c] > out[best])
			best = c;
	return best;
}

static void softmax_of(float out[CLASSES])
{
	float max = out[largest_of(out)], sum = 0;

	for (int c = 0; c < CLASSES; c++) {
		out[c] = exp_f(out[c] - max);
		sum += out[c];
	}
	for (int c = 0; c < CLASSES; c++)
		out[c] /= sum;
}

void model_backward(const struct model *model, const float *pixels, unsigned int digit,
		    struct gradient *g)
{
	float hidden[HIDDEN], out[CLASSES], back[HIDDEN];

	forward_pass(model, pixels, hidden, out);
	softmax_of(out);
	g->loss -= log_f(out[digit] > TINY ? out[digit] : TINY);
	out[digit] -= 1;

	for (int c = 0; c < CLASSES; c++)
		g->d.b2[c] += out[c];
	for (int h = 0; h < HIDDEN; h++) {
		back[h] = 0;
		if (hidden[h] == 0)
			continue;
		for (int c = 0; c < CLASSES; c++) {
			g->d.w2[h][c] += hidden[h] * out[c];
			back[h] += model->w2[h][c] * out[c];
		}
	}
	for (int h = 0; h < HIDDEN; h++)
		g->d.b1[h] += back[h];
	for (int i = 0; i < PIXELS; i++)
		if (pixels[i] != 0)
			for (int h = 0; h < HIDDEN; h++)
				g->d.w1[i][h] += pixels[i] * back[h];
}

void model_update(struct model *model, struct model *momentum, const struct gradient *g,
		  unsigned int batch, float rate)
{
	const float *gradient = (const float *)&g->d;
	float *weight = (float *)model, *speed = (float *)momentum, step = rate / (float)batch;

	for (unsigned int i = 0; i < PARAMETERS; i++) {
		speed[i] = MOMENTUM * speed[i] - step * gradient[i];
		weight[i] += speed[i];
	}
}

unsigned int model_correct(const struct model *model, const struct samples *samples)
{
	float hidden[HIDDEN], out[CLASSES];
	unsigned int correct = 0;

	for (unsigned int i = 0; i < samples->count; i++) {
		forward_pass(model, samples->pixels[i], hidden, out);
		correct += largest_of(out) == samples->digit[i];
	}
	return correct;
}
