# SPDX-License-Identifier: GPL-2.0-or-later
#
# A thin front: what each target does is in scripts/.

PREFIX ?= /usr/local
BUILD := $(or $(LLCSCHED_BUILD),build)

.PHONY: build tools run check soak deb bench bench-throttle bench-trust bench-placement lab install clean

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

bench-trust: build
	@scripts/bench trust $(ROWS)

# PARTS="NAME..." does some of it; on simulated hosts, so that no QEMU is built
bench-placement: tools
	@scripts/bench placement $(PARTS)

# LAB="HOST [TEST...]" runs some of it
lab: build
	@tests/lab/lab $(or $(LAB),all)

# build/deb/*.deb
deb:
	@scripts/setup
	@scripts/build-deb

install: build
	@scripts/install $(PREFIX)

clean:
	rm -rf $(BUILD)
