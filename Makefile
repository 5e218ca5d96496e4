# SPDX-License-Identifier: GPL-2.0-only
# `make help` says what there is. The kernel's own build starts at Kbuild, that of everything outside
# the kernel at userspace/Makefile; what is built goes to build/.

TOP	:= $(abspath $(dir $(lastword $(MAKEFILE_LIST))))
PREFIX	?= /usr/local
DESTDIR	?=
RUNNING	:= $(shell uname -r)

# Which kernel: KVER=6.1 or 6.12 (fetched), KDIR=its build directory, else the running one.
KVER	?=
KDIR	?=
WHICH	:= $(if $(KDIR),--kdir '$(KDIR)',$(if $(KVER),--kernel '$(KVER)',--running))

HAVE_HEADERS := $(wildcard /lib/modules/$(RUNNING)/build/Makefile)

.PHONY: all modules userspace install demo kselftest check check-full check-debug check-programs check-mutations check-mutations-random check-exhaustive soak check-model \
	check-fabric check-arch check-packages dist deb wheel docs bench coverage lint clean help

all: userspace
ifneq ($(KVER)$(KDIR)$(HAVE_HEADERS),)
	@$(TOP)/tools/modules $(WHICH)
else
	@echo "No headers of the running kernel $(RUNNING) here: its modules were not built. Install them (Debian:"
	@echo "linux-headers-$(RUNNING)), or build for a VM: make modules KVER=6.1"
endif

modules:
	@$(TOP)/tools/modules $(WHICH) $(if $(INC_FAMILY),-- INC_FAMILY=$(INC_FAMILY))

userspace:
	@$(MAKE) --no-print-directory -C $(TOP)/userspace

install: userspace
	@$(TOP)/tools/modules $(WHICH) --install '$(DESTDIR)'
	@$(MAKE) --no-print-directory -C $(TOP)/userspace install DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)'

demo:
	@$(TOP)/tools/deps build vm
	@$(TOP)/tools/modules --kernel '$(or $(KVER),6.1)'
	@$(MAKE) --no-print-directory userspace
	@$(TOP)/tools/demo

# On this machine; the module's tests need root and the module.
kselftest:
	@$(MAKE) --no-print-directory -C $(TOP)/selftests run_tests

# CHANGED=1: as a build server does it. RUN_SEED=N: other random choices than those of
# selftests/seed; not from the environment.
run_seed = $(if $(filter command,$(origin RUN_SEED)),$(RUN_SEED))
check:
	@$(TOP)/tools/check $(if $(CHANGED),--changed) $(if $(run_seed),--seed '$(run_seed)')

check-full:
	@$(TOP)/tools/check --full

check-debug:
	@$(TOP)/tools/check debug

# Groups over several kernels, each in a guest of its own.
check-fabric:
	@$(TOP)/tools/deps check
	@$(TOP)/tools/check fabric-6.12

# Other processors: in emulated ones, and 32-bit programs.
check-arch:
	@$(TOP)/tools/deps check arch
	@$(TOP)/tools/check arch
	@$(TOP)/tools/passed record arch

check-mutations:
	@$(TOP)/tools/deps check
	@$(TOP)/selftests/mutations/run

# In user-mode Linux, where PyTorch runs at the speed of this machine; with the PyTorch of this Debian,
# and, as root, with that of Debian 13 in a root of its own. TORCH_PYTHON=: only with that interpreter's.
check-programs:
	@$(TOP)/tools/deps build uml $(if $(TORCH_PYTHON),,torch) programs
	@$(MAKE) --no-print-directory -C $(TOP)/userspace all torch
	@$(TOP)/selftests/torch/run
	@TORCH=1 PROGRAMS=1 $(TOP)/tools/uml run --plain --mem 3G --timeout 7200 -- $(TOP)/selftests/vm/run-all 62-torch 63-programs
ifeq ($(TORCH_PYTHON),)
	@$(TOP)/selftests/torch/debian13
	@root=$$($(TOP)/selftests/torch/debian13 --root) && \
		TORCH=1 TORCH_ROOT=$$root TORCH_OUT=$(TOP)/build/debian13 \
		$(TOP)/tools/uml run --plain --mem 3G --timeout 7200 -- $(TOP)/selftests/vm/run-all 62-torch
endif

# Sources for other machines and distributions: build/dist
dist:
	@$(TOP)/tools/dist

# TORCH=1: that for PyTorch, too.
deb:
	@$(TOP)/tools/deps packages $(if $(TORCH),torch)
	@$(TOP)/tools/deb $(if $(TORCH),--torch)

# The Python package `inc`, for pip: build/wheel. It finds libinc where it is used.
wheel:
	@python3 -B $(TOP)/userspace/python/backend.py --wheel $(TOP)/build/wheel

# HTML of Documentation/: build/docs/html
docs:
	@$(TOP)/tools/deps docs
	@$(TOP)/tools/docs/build

# Build, install, upgrade, remove and purge them in a Debian root of their own; as root.
check-packages:
	@$(TOP)/tools/deps packages check-packages
	@$(TOP)/selftests/packages/run

# N=200: how many. SEED=N draws the same ones again. GLUE=1: not of engine and reduction, but of the
# rest of kernel/, N=60.
check-mutations-random:
	@$(TOP)/tools/deps check $(if $(GLUE),uml)
	@SEED='$(SEED)' $(TOP)/selftests/mutations/random $(if $(GLUE),--glue) $(N)

# FORCE=1: also if nothing has changed since it passed.
check-exhaustive:
	@$(TOP)/selftests/exhaustive/run $(if $(FORCE),--force)

# SOAK=SECONDS: simulator, fuzzers, and members that lie to a kernel that looks for bugs, an equal share each.
soak:
	@$(TOP)/tools/deps check
	@$(MAKE) --no-print-directory userspace
	@$(TOP)/tools/soak '$(or $(SOAK),600)'

# FULL=1: the large instances too.
check-model:
	@$(TOP)/tools/deps model
	@$(TOP)/Documentation/model/run

# QUICK=1: half of it
bench:
	@$(TOP)/tools/bench/all $(if $(QUICK),--quick)

# GLUE=1: of everything but engine and reduction, by the VM tests in user-mode Linux.
coverage:
ifeq ($(GLUE),)
	@$(TOP)/tools/deps build
	@$(TOP)/tools/coverage
else
	@$(TOP)/tools/check gcov-6.1
endif

lint:
	@$(TOP)/tools/deps build lint
	@$(TOP)/tools/lint

clean:
	@rm -rf $(TOP)/build

help:
	@echo 'command          what it does'
	@echo '---------------  -------------------------------------------------------------------------'
	@echo 'make             build the modules for the running kernel, libinc and the inc tool'
	@echo 'make modules     build the modules only; KVER=6.1 or 6.12: for this stock kernel (fetched into'
	@echo '                 a cache), KDIR=path: for the kernel with this build directory'
	@echo 'make userspace   build libinc, the inc tool and the programs only'
	@echo 'make install     install all of it (as root; PREFIX=/usr/local, DESTDIR=); PYTHON=python3: the package inc'
	@echo '                 for this interpreter, too'
	@echo 'make dist        a tarball of the sources, in build/dist, that needs no git'
	@echo 'make deb         the Debian packages, in build/deb; TORCH=1: that for PyTorch, too. Installs what it takes'
	@echo 'make wheel       the wheel of the Python package inc, in build/wheel'
	@echo 'make check-packages  build them, and install, upgrade and purge them in a Debian root, with the module'
	@echo '                 built there by DKMS; as root'
	@echo 'make docs        Documentation/ and a reference of libinc as HTML, in build/docs/html'
	@echo 'make demo        in a VM: train a model on 4 hosts, summed inside the bridge between them'
	@echo 'make kselftest   the tests on this machine, as those of the kernel are run; as root, or those of the module are'
	@echo '                 skipped: see selftests/Makefile'
	@echo 'make check       all tests (KERNELS="6.1 6.12"); ends with "N passed, N failed"'
	@echo 'make check-full  the same with the whole matrix'
	@echo 'make check-debug  the VM tests under kernels that look for bugs in memory, locks and races (user-mode'
	@echo '                 Linux 6.1, QEMU 6.1 and 6.12 with PREEMPT_RT), and under 7.2; builds these kernels. A build'
	@echo '                 server (CHANGED=1) runs them only where they have passed before, and only when'
	@echo '                 something has changed since'
	@echo 'make check-fabric  groups over several kernels: seven guests, joined by links; 5 minutes'
	@echo 'make check-arch  unit tests and simulator for arm64 (NEON) and s390x (big-endian), 32-bit programs, and groups'
	@echo '                 under an arm64 kernel, all of it emulated; installs cross compilers and QEMU; 15 minutes'
	@echo 'make check-programs  programs of PyTorch, on this machine without the module and in user-mode Linux with it, and of'
	@echo '                 MPI (ScaLAPACK, mpi4py, HPCC); installs PyTorch (0.7 GB) and builds that kernel'
	@echo 'make check-mutations  do the fast tests find faults that are put into engine and reduction? a quarter of an hour'
	@echo 'make check-mutations-random  do they find N=200 faults that nobody has chosen? half an hour. GLUE=1: do VM tests'
	@echo '                 find N=60 in the rest of kernel/? an hour or two'
	@echo 'make check-exhaustive  reduction kernels on all their inputs; some minutes, FORCE=1: also if cached'
	@echo 'make soak        simulator, fuzzers, and members that lie to a kernel that looks for bugs, with new seeds for'
	@echo '                 SOAK=600 seconds; a failure is made small and printed'
	@echo 'make check-model  the protocol as SPIN models: what holds, and what fails without each rule'
	@echo 'make bench       how fast it is, next to Open MPI, MPICH, Gloo and the limits: 30 minutes, QUICK=1: 15.'
	@echo '                 tools/bench/PART for one part; build/bench has the figures and the plots'
	@echo 'make coverage    which lines of engine and reduction the fast tests run; a table in build/coverage.'
	@echo '                 GLUE=1: which of the others the VM tests run, in build/coverage-glue; a quarter'
	@echo '                 of an hour'
	@echo 'make lint        checkpatch, sparse, shellcheck, python'
	@echo 'make clean       remove build/ (fetched kernels stay in the cache)'
