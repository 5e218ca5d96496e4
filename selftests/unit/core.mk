# SPDX-License-Identifier: GPL-2.0-only
#
# Engine and reduction kernels under ASAN and UBSAN, built once for the unit tests and the
# simulator: $(core). The including Makefile sets $(top).

CORE_OUT ?= $(top)/build/core
SANITIZERS ?= address,undefined
CORE_CFLAGS ?= -O1 -g -fno-omit-frame-pointer -fsanitize=$(SANITIZERS) -fno-sanitize-recover=all
core_flags := -std=gnu11 -Wall -Wextra -Werror $(CORE_CFLAGS) -I$(top)/kernel -I$(top)/uapi -MMD -MP

# The vector kernels are thousands of inlined functions. Compiling them takes longer than all the
# rest, so they come first. Most of that time would go into the places of their variables, which are
# left out (-g1 keeps the lines), into what UBSAN says of every access to memory beside ASAN, and
# into the code of ASAN's looks at each of them, which are calls of functions here.
core_big := $(sort $(wildcard $(top)/kernel/reduce/x86_*.c $(top)/kernel/reduce/arm64_*.c))
core_sources := $(core_big) $(filter-out $(core_big), \
	$(sort $(wildcard $(top)/kernel/engine/*.c $(top)/kernel/reduce/*.c)))
core_objects := $(patsubst $(top)/%.c,$(CORE_OUT)/%.o,$(core_sources))
core := $(CORE_OUT)/core.a

# A changed set of sources or flags rebuilds what depends on it: a deleted file would go unnoticed
# otherwise.
ifneq ($(MAKECMDGOALS),list)
$(shell mkdir -p $(CORE_OUT); echo '$(CC) $(core_flags) $(core_objects)' | cmp -s - $(CORE_OUT)/settings || \
	echo '$(CC) $(core_flags) $(core_objects)' > $(CORE_OUT)/settings)
endif

$(core_big:$(top)/%.c=$(CORE_OUT)/%.o): core_big_flags := -g1 -ffp-contract=off \
	-fno-sanitize=null,alignment,object-size,pointer-overflow \
	$(if $(findstring clang,$(CC)),,--param asan-instrumentation-with-call-threshold=0)

$(CORE_OUT)/%.o: $(top)/%.c $(CORE_OUT)/settings
	@mkdir -p $(@D)
	$(CC) $(core_flags) $(core_big_flags) -c -o $@ $<

# An archive: a program needs only what it uses to be complete.
$(core): $(core_objects)
	rm -f $@
	$(AR) rcs $@ $^

-include $(core_objects:.o=.d)
