/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INC_FUZZ_TOOL_H
#define INC_FUZZ_TOOL_H

#include <stddef.h>
#include <stdint.h>

/* The tool's main(), by the name that it is compiled with here. */
int inc_main(int argc, char **argv);

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
