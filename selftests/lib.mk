# SPDX-License-Identifier: GPL-2.0-only
#
# What the Makefiles of the tests' directories have in common. Their variables and targets are those
# of the kernel's tools/testing/selftests/lib.mk, as far as they are needed here:
#
#	TEST_PROGS		scripts that are tests
#	TEST_CUSTOM_PROGS	programs that are tests, with paths; the directory's own rules build them
#	TEST_PROGS_EXTENDED	programs that tests run
#	TEST_FILES		other files that they need, directories too
#
#	make			builds what is needed
#	make run_tests		runs the tests (see runner); those that are skipped have not failed
#	make install		copies all of it to INSTALL_PATH
#	make emit_tests		prints the tests' names as COLLECTION:TEST
#	make clean

selftests := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
COLLECTION ?= $(notdir $(CURDIR))
ksft_files = $(TEST_CUSTOM_PROGS) $(TEST_PROGS) $(TEST_PROGS_EXTENDED) $(TEST_FILES) $(wildcard config settings)

.PHONY: all run_tests install emit_tests clean

all: $(TEST_CUSTOM_PROGS)

run_tests: all
	@$(selftests)/runner $(COLLECTION) $(TEST_CUSTOM_PROGS) $(addprefix ./,$(TEST_PROGS)) || [ $$? = 4 ]

install: all
	$(if $(INSTALL_PATH),,$(error INSTALL_PATH: expected a directory))
	@mkdir -p $(INSTALL_PATH)
	@cp -rL $(ksft_files) $(INSTALL_PATH)/

emit_tests:
	@printf '$(COLLECTION):%s\n' $(notdir $(TEST_CUSTOM_PROGS) $(TEST_PROGS))
