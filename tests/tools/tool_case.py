# A little host and a TAP runner for the tests of the command line
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import os
import subprocess
import sys
import tempfile
import traceback


def write(root, name, text):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='ascii') as out:
        out.write(text)


def parse_list(text):
    """The set of a kernel CPU list."""
    cpus = set()
    for part in text.split(',') if text else []:
        first, _, last = part.partition('-')
        span = set(range(int(first), int(last or first) + 1))
        assert not cpus & span, f'{text} names a CPU twice'
        cpus |= span
    return cpus


def make_tree(root, llcs=2, cores=2, isolated=''):
    """A host with SMT: cores are 0 .. n-1, their siblings n .. 2n-1."""
    n = llcs * cores
    system = 'sys/devices/system'
    for name, text in (('online', f'0-{2 * n - 1}'),
                       ('possible', f'0-{2 * n - 1}'),
                       ('present', f'0-{2 * n - 1}'),
                       ('isolated', isolated)):
        write(root, f'{system}/cpu/{name}', text + '\n')
    for cpu in range(2 * n):
        core = cpu % n
        first = core // cores * cores
        last = first + cores - 1
        folder = f'{system}/cpu/cpu{cpu}'
        cache = f'{folder}/cache/index3'
        for name, text in (
                (f'{folder}/topology/physical_package_id', '0'),
                (f'{folder}/topology/core_id', f'{core}'),
                (f'{folder}/topology/thread_siblings_list',
                 f'{core},{core + n}'),
                (f'{cache}/level', '3'),
                (f'{cache}/type', 'Unified'),
                (f'{cache}/size', '8192K'),
                (f'{cache}/shared_cpu_list',
                 f'{first}-{last},{first + n}-{last + n}')):
            write(root, name, text + '\n')
    node = f'{system}/node/node0'
    write(root, f'{system}/node/online', '0\n')
    write(root, f'{system}/node/has_memory', '0\n')
    write(root, f'{node}/cpulist', f'0-{2 * n - 1}\n')
    write(root, f'{node}/distance', '10\n')
    write(root, f'{node}/meminfo', 'Node 0 MemTotal: 16777216 kB\n')
    return root


class Tool:
    """The program under test."""

    def __init__(self, path):
        self.path = path

    def run(self, *args, **kwargs):
        if 'input' not in kwargs:
            kwargs.setdefault('stdin', subprocess.DEVNULL)
        return subprocess.run([self.path, *args], timeout=120, check=False,
                              **{'stdout': subprocess.PIPE, 'text': True,
                                 'stderr': subprocess.PIPE, **kwargs})

    def ok(self, *args, **kwargs):
        """The output of a call that must work and say nothing else."""
        done = self.run(*args, **kwargs)
        assert done.returncode == 0, f'{args}: {done}'
        assert done.stderr == '', f'{args}: {done.stderr}'
        return done.stdout

    def fails(self, status, words, *args, **kwargs):
        """It must end with @status and one line that has all of @words."""
        done = self.run(*args, **kwargs)
        assert done.returncode == status, f'{args}: {done}'
        assert not done.stdout, f'{args}: {done.stdout}'
        lines = done.stderr.splitlines()
        assert len(lines) == 1, f'{args}: {done.stderr}'
        assert lines[0].startswith('qemu-llcsched'), lines[0]
        for word in words:
            assert word in lines[0], f'{args}: no {word!r} in {lines[0]!r}'


class Skip(Exception):
    """Raised by a test that cannot run here, with the reason."""


def run_tests(tests):
    """Run (name, function taking a folder) pairs; speak TAP."""
    failed = 0
    print(f'1..{len(tests)}')
    for number, (name, test) in enumerate(tests, 1):
        result, note = 'ok', ''
        with tempfile.TemporaryDirectory(prefix='llcsched-') as folder:
            try:
                test(folder)
            except Skip as skip:
                note = f' # SKIP {skip}'
            except Exception:
                failed += 1
                result = 'not ok'
                for line in traceback.format_exc().splitlines():
                    print(f'# {line}')
        print(f'{result} {number} - {name}{note}', flush=True)
    sys.exit(1 if failed else 0)
