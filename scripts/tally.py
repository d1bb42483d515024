#!/usr/bin/env python3
#
# Count the results of tests: what meson's testlog.json files and TAP files
# hold, test by test; tell which failed, and why any was skipped.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later
#
"""Usage: tally.py NAME=FILE...  (meson's testlog.json, or NAME.tap)"""

import json
import re
import sys

TAP = re.compile(r'^(not )?ok\b\s*\d*\s*-?\s*([^#]*?)\s*(?:#\s*(\w+)\s*(.*))?$')


class Tally:
    """Passed, failed and skipped tests with the reasons of the last two."""

    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = []

    def add_tap(self, where, text):
        """Count the lines of one program's TAP output; how many failed."""
        before = len(self.failures)
        for line in text.splitlines():
            match = TAP.match(line)
            if not match:
                continue
            bad, name, directive, why = match.groups()
            if directive and directive.upper() == 'SKIP':
                self.skips.append(f'{where} {name}: {why or "no reason"}')
            elif bad:
                self.failures.append(f'{where} {name}')
            else:
                self.passed += 1
        return len(self.failures) - before

    def add_meson(self, where, entry):
        """Count one program that meson ran, whatever its protocol."""
        result, text = entry['result'], entry.get('stdout', '')
        name = f"{where} {entry['name']}"
        counted = self.passed + len(self.skips)
        failed = self.add_tap(name, text)
        counted = self.passed + len(self.skips) - counted
        if result in ('OK', 'SKIP') and not counted and not failed:
            if result == 'OK':
                self.passed += 1
            else:
                self.skips.append(f'{name}: {text.strip() or "no reason"}')
        elif result not in ('OK', 'SKIP') and not failed:
            # it crashed or ran out of time between its tests
            self.failures.append(f'{name} ({result.lower()})')


def main():
    """Read every file, print what is worth reading, end with the counts."""
    tally = Tally()
    for arg in sys.argv[1:]:
        where, path = arg.split('=', 1)
        try:
            with open(path, encoding='utf-8', errors='replace') as file:
                if path.endswith('.tap'):
                    tally.add_tap(where, file.read())
                    continue
                for line in file:
                    tally.add_meson(where, json.loads(line))
        except OSError as err:
            tally.failures.append(f'{where}: no results: {err}')
    for line in tally.skips:
        print(f'skipped: {line}')
    for line in tally.failures:
        print(f'FAILED: {line}')
    print(f'{tally.passed} passed, {len(tally.failures)} failed, '
          f'{len(tally.skips)} skipped')
    return 1 if tally.failures or not tally.passed else 0


if __name__ == '__main__':
    sys.exit(main())
