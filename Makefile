# SPDX-License-Identifier: GPL-2.0-or-later
#
# A thin front: what each target does is in scripts/.

PREFIX ?= /usr/local
BUILD := $(or $(LLCSCHED_BUILD),build)

.PHONY: build tools run check soak bench bench-throttle lab install clean

build: tools
	@scripts/fetch-qemu
	@scripts/build-qemu

tools:
	@scripts/setup
	@scripts/build-tools

run: build
	@scripts/demo

check: build
	@scripts/check

soak: build
	@scripts/soak

bench: build
	@scripts/bench

# ROWS="NAME..." measures some of it
bench-throttle: build
	@scripts/bench throttle $(ROWS)

# LAB="HOST [TEST...]" runs some of it
lab: build
	@tests/lab/lab $(or $(LAB),all)

install: build
	@scripts/install $(PREFIX)

clean:
	rm -rf $(BUILD)
