#!/usr/bin/env python3
#
# qemu-llcsched sim and record: tables, loads, and every way to get them wrong
#
# Usage: test-qemu-llcsched-sim.py PROGRAM SOURCE-ROOT
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import contextlib
import csv
import io
import os
import subprocess
import sys

from tool_case import Tool, make_tree, run_tests, write

tool = Tool(sys.argv[1])
source = sys.argv[2]
SHORT = ('--seconds', '1', '--warm', '1')

LOAD = '''llcsched-load 1
vcpus 2
window-ms 500
# vcpu run_us wait_us slices
0 250000 0 100
1 0 0 0
0 100000 0 10
1 400000 0 4
'''


def sim(*args):
    """The rows by (case, policy)."""
    rows = csv.DictReader(io.StringIO(tool.ok('sim', *SHORT, *args)))
    return {(row['case'], row['policy']): row for row in rows}


def numbers(row):
    return {name: float(value) for name, value in row.items()
            if name not in ('case', 'policy')}


def test_same_arguments_same_bytes(folder):
    args = ('sim', '--root', make_tree(folder), *SHORT, '--seeds', '2',
            '--case', 'mixed=100', '--case', 'schbench=3')
    first = tool.ok(*args)
    assert first == tool.ok(*args)
    assert first != tool.ok(*args, '--first-seed', '7')


def test_every_case_with_every_policy(folder):
    make_tree(folder)
    rows = sim('--root', folder)
    cases = {case for case, _ in rows}
    policies = {policy for _, policy in rows}
    assert len(rows) == len(cases) * len(policies)
    assert {'blind', 'cache-aware', 'pins', 'first-fit', 'nearest',
            'llcsched'} <= policies
    text = tool.ok('sim', '--help')
    for name in sorted(policies) + [case.split('=')[0] for case in cases]:
        assert f'  {name} ' in text, name
    for row in rows.values():
        value = numbers(row)
        assert 0 <= value['aligned'] <= 1, row
        assert value['p50_us'] <= value['p90_us'] <= value['p99_us'] <= \
            value['p999_us'], row
        assert value['throughput'] > 0, row


def test_columns_that_scripts_rely_on(folder):
    text = tool.ok('sim', '--root', make_tree(folder), *SHORT, '-c', 'one',
                   '-p', 'blind')
    assert text.startswith('case,policy,p50_us,p99_us,throughput,migrations,'
                           'aligned,')


def test_case_names_the_described_host(_folder):
    host = os.path.join(source, 'tests/hosts/core2-quad-q6600.host')
    rows = sim('--host', host, '-c', 'one=2', '-p', 'blind')
    assert list(rows) == [('core2-quad-q6600/one=2', 'blind')]


def test_work_is_what_the_cpus_can_do(folder):
    make_tree(folder)
    # llcsched's VMs start with the same LLC and have to part
    rows = sim('--root', folder, '--warm', '10', '-c', 'spin=100',
               '-c', 'spin=200', '-p', 'blind', '-p', 'llcsched')
    for policy in ('blind', 'llcsched'):
        # four cores: a full one each; then two siblings at 62 % on each
        alone = numbers(rows['spin=100', policy])['throughput']
        paired = numbers(rows['spin=200', policy])['throughput']
        assert abs(alone - 4000) < 20, alone
        assert abs(paired - 4 * 2 * 620) < 25, paired


def test_deviation_is_none_of_one_seed(folder):
    make_tree(folder)
    args = ('--root', folder, '-c', 'bursts=100', '-p', 'blind')
    row = numbers(sim(*args)['bursts=100', 'blind'])
    assert row['seeds'] == 1 and row['throughput_std'] == 0
    row = numbers(sim(*args, '--seeds', '3')['bursts=100', 'blind'])
    assert row['seeds'] == 3 and row['throughput_std'] > 0


def test_recorded_load_runs_as_long_as_recorded(folder):
    make_tree(folder)
    write(folder, 'vm.load', LOAD)
    args = ('--root', folder, '--load', os.path.join(folder, 'vm.load'),
            '-p', 'blind', '-p', 'llcsched', '--load-percent', '50')
    for row in sim(*args).values():
        # 750 ms in each second, and what a burst passes its window's end by
        work = numbers(row)['throughput']
        assert 600 < work < 900, row
    assert len(sim(*args, '-c', 'one', '-p', 'blind')) == 4


def test_loads_that_are_none(folder):
    make_tree(folder)
    path = os.path.join(folder, 'vm.load')
    for text, words in (
            ('', ['line 0', 'llcsched-load 1']),
            ('llcsched-load 2\n', ['line 1']),
            (LOAD.replace('vcpus 2', 'vcpus 0'), ['line 2', '4096']),
            (LOAD.replace('vcpus 2', 'vcpus 2x'), ['line 2']),
            (LOAD.replace('-ms 500', '-ms 99'), ['line 3', '100']),
            (LOAD.replace('1 0 0 0', '0 0 0 0'), ['line 6', 'in turn']),
            (LOAD.replace('1 0 0 0', '1 0 0'), ['line 6']),
            (LOAD.replace('1 0 0 0', '1 0 0 0 0'), ['line 6']),
            (LOAD.replace('1 0 0 0', '1 -1 0 0'), ['line 6']),
            (LOAD.replace('1 0 0 0', '1 0 0 ' + '9' * 300), ['line 6']),
            (LOAD.replace('1 400000 0 4\n', ''), ['within a window']),
            (LOAD.split('0 250000')[0], ['line'])):
        write(folder, 'vm.load', text)
        tool.fails(1, [path, *words], 'sim', '--root', folder, '--load', path)
    tool.fails(1, ['No such file'], 'sim', '--root', folder, '--load',
               path + '.none')


def test_usage_errors_of_sim(folder):
    make_tree(folder)
    for args, words in (
            (['-c', 'none'], ["'none'", '--help']),
            (['-c', 'pairs=0'], ["'pairs=0'", '1 to 1000']),
            (['-c', 'pairs='], ["'pairs='"]),
            (['-p', 'none'], ["'none'", '--help']),
            (['--seeds', '0'], ['--seeds 0', '1 to']),
            (['--seconds', '0'], ['--seconds 0']),
            (['--warm', '-1'], ['--warm -1']),
            (['--guard-util', '101'], ['--guard-util 101', '1 to 100']),
            (['--load-percent', '0'], ['--load-percent 0']),
            (['--load', ''], ["--load ''"])):
        tool.fails(2, words, 'sim', '--root', folder, *args)


@contextlib.contextmanager
def process_of_threads(names):
    """A process whose threads have these names and are half busy."""
    code = ('import sys, threading, time\n'
            'def run(name):\n'
            '    open("/proc/thread-self/comm", "w").write(name)\n'
            '    named.release()\n'
            '    while not done.is_set():\n'
            '        sum(range(20000))\n'
            '        time.sleep(0.001)\n'
            'done, named = threading.Event(), threading.Semaphore(0)\n'
            'for name in sys.argv[1:]:\n'
            '    threading.Thread(target=run, args=(name,)).start()\n'
            'for name in sys.argv[1:]:\n'
            '    named.acquire()\n'
            'print(flush=True)\n'
            'sys.stdin.read()\n'
            'done.set()\n')
    with subprocess.Popen([sys.executable, '-c', code, *names],
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            process.stdin.close()
            process.wait(timeout=60)


def test_record_writes_what_sim_reads(folder):
    with process_of_threads(['CPU 1/KVM', 'CPU 0/TCG', 'worker']) as pid:
        text = tool.ok('record', '--pid', str(pid), '--seconds', '1',
                       '--window', '250')
    lines = [line for line in text.splitlines() if not line.startswith('#')]
    assert lines[:3] == ['llcsched-load 1', 'vcpus 2', 'window-ms 250']
    rows = [[int(word) for word in line.split()] for line in lines[3:]]
    assert [row[0] for row in rows] == [0, 1] * 4
    for vcpu in (0, 1):
        assert sum(row[1] for row in rows if row[0] == vcpu) > 0
        assert sum(row[3] for row in rows if row[0] == vcpu) > 0
    make_tree(folder)
    write(folder, 'vm.load', text)
    assert sim('--root', folder, '--load', os.path.join(folder, 'vm.load'),
               '-p', 'blind')


def test_record_says_what_is_missing(_folder):
    with process_of_threads(['worker']) as pid:
        tool.fails(1, [str(pid), 'debug-threads=on'], 'record', '--pid',
                   str(pid))
    tool.fails(1, ['No such file'], 'record', '--pid', '2147483647')


def test_usage_errors_of_record(_folder):
    tool.fails(2, ['--pid 0'], 'record')
    tool.fails(2, ['--pid -1'], 'record', '--pid', '-1')
    tool.fails(2, ['--window 99', '100'], 'record', '--pid', '1',
               '--window', '99')
    tool.fails(2, ['--seconds 0'], 'record', '--pid', '1', '--seconds', '0')
    tool.fails(2, ["'surplus'"], 'record', 'surplus')


def test_full_disk_is_told(folder):
    make_tree(folder)
    with open('/dev/full', 'w', encoding='ascii') as full:
        done = tool.run('sim', '--root', folder, *SHORT, '-c', 'one',
                        stdout=full)
    assert done.returncode == 1
    assert 'No space left' in done.stderr, done.stderr


def main():
    run_tests([(f'/sim/{name[5:].replace("_", "-")}', test)
               for name, test in globals().items()
               if name.startswith('test_')])


main()
