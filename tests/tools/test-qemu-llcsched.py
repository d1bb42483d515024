#!/usr/bin/env python3
#
# The qemu-llcsched command line: texts, JSON and every way to get it wrong
#
# Usage: test-qemu-llcsched.py PROGRAM SOURCE-ROOT
# LLCSCHED_UPDATE_GOLDEN=1 writes the expected texts anew: look at the diff.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import difflib
import json
import os
import re
import subprocess
import sys

from tool_case import Skip, Tool, make_tree, parse_list, run_tests, write

COMMANDS = ('topo', 'plan', 'capture', 'sim', 'record', 'xml')

tool = Tool(sys.argv[1])
source = sys.argv[2]
hosts = os.path.join(source, 'tests/hosts')
golden = os.path.join(source, 'tests/tools/golden')


def host_files():
    return sorted(os.path.join(hosts, name) for name in os.listdir(hosts)
                  if name.endswith('.host'))


def compare(name, text):
    """Compare with what a file of tests/tools/golden says."""
    path = os.path.join(golden, name)
    if os.environ.get('LLCSCHED_UPDATE_GOLDEN'):
        with open(path, 'w', encoding='utf-8') as out:
            out.write(text)
    with open(path, encoding='utf-8') as want:
        diff = list(difflib.unified_diff(want.read().splitlines(),
                                         text.splitlines(), name, 'now',
                                         lineterm=''))
    assert not diff, '\n' + '\n'.join(diff)


def check_partition(parts, whole, what):
    """Every CPU of @whole in exactly one of @parts."""
    seen = set()
    for part in parts:
        assert not seen & part, f'{what}: {seen & part} in two of them'
        seen |= part
    assert seen == whole, f'{what}: {seen ^ whole}'


def check_topo(topo):
    """What must hold for topo --json of any host."""
    online = parse_list(topo['cpus'])
    assert online <= parse_list(topo['possible'])
    assert all(isinstance(note, str) for note in topo['notes'])
    for name in ('llcs', 'cores', 'nodes'):
        assert topo[name], f'no {name}'
        check_partition([parse_list(entry['cpus']) for entry in topo[name]],
                        online, name)
    llcs = topo['llcs']
    node_ids = [node['id'] for node in topo['nodes']]
    assert [llc['id'] for llc in llcs] == list(range(len(llcs)))
    for llc in llcs:
        for name in ('level', 'bytes', 'node', 'package', 'n_cores'):
            assert isinstance(llc[name], int), name
        assert llc['node'] in node_ids
    for core in topo['cores']:
        llc = llcs[core['llc']]
        assert parse_list(core['cpus']) <= parse_list(llc['cpus'])
        assert core['kind'] in ('plain', 'performance', 'efficiency')
        assert 1 <= core['capacity'] <= 1024
    for index, node in enumerate(topo['nodes']):
        assert len(node['distances']) == len(node_ids)
        assert node['distances'][index] == 10
    smt = any(len(parse_list(core['cpus'])) > 1 for core in topo['cores'])
    assert smt == topo['smt']


def check_plan(plan, topo):
    """What must hold for plan --json of any host and VMs."""
    candidates = parse_list(plan['candidates'])
    assert candidates and candidates <= parse_list(topo['cpus'])
    assert [llc['cpus'] for llc in plan['llcs']] == \
        [llc['cpus'] for llc in topo['llcs']]
    present = 0
    for vm in plan['vms']:
        assert vm['verdict'] in vm['summary']
        for index, vcpu in enumerate(vm['vcpus']):
            mask = parse_list(vcpu['cpus'])
            assert vcpu['vcpu'] == index
            assert bool(mask) == vcpu['present']
            assert mask <= candidates
            touched = {llc['id'] for llc in plan['llcs']
                       if parse_list(llc['cpus']) & mask}
            assert touched == parse_list(vcpu['host_llcs'])
            assert vcpu['why'] and vcpu['reason']
            present += vcpu['present']
    total = sum(llc['vcpus'] for llc in plan['llcs'])
    assert abs(total - present) < 0.01, f'{total} of {present} vCPUs'


def test_topo_json_of_a_tree(folder):
    topo = json.loads(tool.ok('topo', '--root', make_tree(folder), '--json'))
    check_topo(topo)
    assert [llc['cpus'] for llc in topo['llcs']] == ['0-1,4-5', '2-3,6-7']
    assert topo['llcs'][1]['bytes'] == 8 << 20
    assert topo['llcs'][1]['level'] == 3
    assert topo['llcs'][1]['node'] == 0
    assert topo['llcs'][1]['package'] == 0
    assert topo['llcs'][1]['n_cores'] == 2
    assert [core['cpus'] for core in topo['cores']] == \
        ['0,4', '1,5', '2,6', '3,7']
    assert topo['nodes'][0]['mem_bytes'] == 16 << 30


def test_topo_json_of_every_host(_folder):
    files = host_files()
    if not files:
        raise Skip('tests/hosts has no descriptions')
    for path in files:
        topo = json.loads(tool.ok('topo', '--host', path, '--json'))
        try:
            check_topo(topo)
        except AssertionError as error:
            raise AssertionError(f'{path}: {error}') from error


def test_topo_text_of_every_host_is_80_columns(_folder):
    for path in host_files():
        text = tool.ok('topo', '--host', path)
        for line in text.splitlines():
            assert len(line) <= 80 or line.startswith('note:'), line


def test_topo_of_this_host(_folder):
    topo = json.loads(tool.ok('topo', '--json'))
    check_topo(topo)
    with open('/sys/devices/system/cpu/online', encoding='ascii') as online:
        assert topo['cpus'] == online.read().strip()
    assert tool.ok('topo').startswith(f"{len(parse_list(topo['cpus']))} CPU")


def test_topo_folder_as_host(folder):
    make_tree(folder)
    assert tool.ok('topo', '--host', folder) == \
        tool.ok('topo', '--root', folder)


def test_topo_isolated_and_offline(folder):
    make_tree(folder, isolated='3')
    write(folder, 'sys/devices/system/cpu/online', '0-6\n')
    text = tool.ok('topo', '--root', folder)
    assert re.search(r'^online: +0-6$', text, re.M), text
    assert re.search(r'^offline: +7$', text, re.M), text
    assert re.search(r'^isolated: +3$', text, re.M), text
    topo = json.loads(tool.ok('topo', '--root', folder, '--json'))
    check_topo(topo)
    assert topo['isolated'] == '3'


def test_long_lists_go_on_below(folder):
    make_tree(folder, llcs=1, cores=64)
    online = ','.join(str(cpu) for cpu in range(0, 128, 2))
    write(folder, 'sys/devices/system/cpu/online', online + '\n')
    for args in (['topo'], ['plan', '--smp', '1,maxcpus=1']):
        text = tool.ok(*args, '--root', folder)
        table = text[text.index('\n LLC '):].splitlines()
        assert len(table) > 4
        assert all(len(line) <= 80 for line in table), table
        first, last = table[2], len(table)
        if '' in table[2:]:
            last = table.index('', 2)
        rest = [line.strip() for line in table[3:last]]
        assert first.split()[-1] + ''.join(rest) == online


def test_topo_damaged_tree(folder):
    make_tree(folder)
    cpu = 'sys/devices/system/cpu/cpu1'
    write(folder, f'{cpu}/cache/index3/shared_cpu_list', 'gar\0bage\n')
    write(folder, f'{cpu}/topology/core_id', '99999999999999999999\n')
    topo = json.loads(tool.ok('topo', '--root', folder, '--json'))
    check_topo(topo)
    assert topo['notes'], 'damage without a note'


def test_root_without_sys(folder):
    tool.fails(1, [folder, 'No such file'], 'topo', '--root', folder)
    tool.fails(1, [folder, 'No such file'], 'plan', '--root', folder,
               '--smp', '2')
    tool.fails(1, [folder, 'No such file'], 'capture', '--root', folder)


def test_root_with_garbage_alone(folder):
    for name in ('online', 'possible', 'present'):
        write(folder, f'sys/devices/system/cpu/{name}', 'garbage\n')
    tool.fails(1, ['online'], 'topo', '--root', folder)


def test_host_that_is_none(folder):
    path = os.path.join(folder, 'bad.host')
    tool.fails(1, [path, 'No such file'], 'topo', '--host', path)
    write(folder, 'bad.host', 'this is not a description\n')
    tool.fails(1, ['1'], 'topo', '--host', path)


def test_plan_json(folder):
    make_tree(folder)
    topo = json.loads(tool.ok('topo', '--root', folder, '--json'))
    for width in ('llc', 'core', 'cpu'):
        plan = json.loads(tool.ok(
            'plan', '--root', folder, '--placement', width, '--json',
            '--smp', '4,sockets=2,cores=1,threads=2'))
        check_plan(plan, topo)
        vm = plan['vms'][0]
        assert vm['placement'] == width
        assert not vm['placement_forced']
        size = {'llc': 4, 'core': 2, 'cpu': 1}[width]
        for vcpu in vm['vcpus']:
            assert len(parse_list(vcpu['cpus'])) == size


def test_plan_json_of_every_host(_folder):
    files = host_files()
    if not files:
        raise Skip('tests/hosts has no descriptions')
    for path in files:
        topo = json.loads(tool.ok('topo', '--host', path, '--json'))
        plan = json.loads(tool.ok('plan', '--host', path, '--json', '--smp',
                                  '8,sockets=2,cores=2,threads=2', '--smp',
                                  '2,maxcpus=4'))
        check_plan(plan, topo)


def one_vm_llcs(plan, index):
    """The host LLCs of a VM."""
    llcs = set()
    for vcpu in plan['vms'][index]['vcpus']:
        llcs |= parse_list(vcpu['host_llcs'])
    return llcs


def test_later_vms_see_the_earlier(folder):
    make_tree(folder, llcs=4)
    smp = ['--smp', '4,cores=2,threads=2'] * 4
    plan = json.loads(tool.ok('plan', '--root', folder, '--json', *smp))
    taken = [one_vm_llcs(plan, index) for index in range(4)]
    check_partition(taken, {0, 1, 2, 3}, 'LLCs of four VMs')
    for llc in plan['llcs']:
        assert llc['used_percent'] == 100


def test_load_closes_an_llc(folder):
    make_tree(folder)
    for busy in (0, 1):
        for seed in ('0', '1'):
            uuid = f'00000000-0000-4000-8000-00000000000{seed}'
            plan = json.loads(tool.ok(
                'plan', '--root', folder, '--json', '--smp', '2', '--load',
                f'{busy}=26%', '--uuid', uuid))
            assert one_vm_llcs(plan, 0) == {1 - busy}
            assert plan['llcs'][busy]['given_percent'] == 26


def test_guard_limits_are_used(folder):
    make_tree(folder)
    args = ['plan', '--root', folder, '--json', '--smp', '2',
            '--load', '0=60,1=60']
    plan = json.loads(tool.ok(*args))
    assert plan['vms'][0]['verdict'] == 'guarded'
    plan = json.loads(tool.ok(*args, '--guard-util', '60',
                              '--guard-tasks', '60'))
    assert plan['vms'][0]['verdict'] != 'guarded'


def test_cpus_limit_the_plan(folder):
    make_tree(folder, isolated='3')
    plan = json.loads(tool.ok('plan', '--root', folder, '--json', '--smp', '2',
                              '--cpus', '2,6'))
    assert plan['candidates'] == '2,6'
    assert not plan['uses_isolated']
    plan = json.loads(tool.ok('plan', '--root', folder, '--json', '--smp', '2',
                              '--cpus', '2-3'))
    assert plan['uses_isolated']
    assert plan['vms'][0]['placement'] == 'cpu'
    assert plan['vms'][0]['placement_forced']


def test_uuid_decides_ties_the_same_way_always(folder):
    make_tree(folder, llcs=4)
    seen = set()
    for number in range(16):
        uuid = f'6b1f3c2a-0000-4000-8000-{number:012x}'
        args = ['plan', '--root', folder, '--json', '--smp', '2', '--uuid']
        first = tool.ok(*args, uuid)
        assert first == tool.ok(*args, uuid.upper())
        seen |= one_vm_llcs(json.loads(first), 0)
    assert len(seen) > 1, 'VMs of any UUID take the same LLC'


def test_cache_scope_makes_groups(folder):
    make_tree(folder)
    args = ['plan', '--root', folder, '--json', '--smp', '4,sockets=1,cores=4',
            '--cache']
    for scope, groups in (('core', 4), ('die', 1), ('socket', 1)):
        plan = json.loads(tool.ok(*args, scope))
        llcs = {vcpu['guest_llc'] for vcpu in plan['vms'][0]['vcpus']}
        assert len(llcs) == groups, scope


def test_plan_without_unplugged_vcpus(folder):
    make_tree(folder)
    plan = json.loads(tool.ok('plan', '--root', folder, '--json', '--smp',
                              '2,maxcpus=4'))
    vcpus = plan['vms'][0]['vcpus']
    assert [vcpu['present'] for vcpu in vcpus] == [True, True, False, False]
    assert vcpus[3]['cpus'] == '' and vcpus[3]['reason'] == 'absent'


def test_plan_bad_values(folder):
    make_tree(folder)
    args = ['plan', '--root', folder]
    for option, value, words in (
            ('--placement', 'node', ['llc, core, cpu']),
            ('--placement', '', ['llc, core, cpu']),
            ('--prefer', 'speed', ['auto, cache, capacity']),
            ('--cache', 'l3', ['core, module, cluster, die, socket']),
            ('--guard-util', '101', ['1 to 100']),
            ('--guard-util', '-1', ['1 to 100']),
            ('--guard-tasks', '1e1', ['1 to 100']),
            ('--guard-tasks', '', ['1 to 100']),
            ('--cpus', '', ['0-3,8']),
            ('--cpus', '3-1', ['0-3,8']),
            ('--cpus', '8192', ['0-3,8']),
            ('--load', '', ['LLC=PERCENT']),
            ('--load', '0', ['LLC=PERCENT']),
            ('--load', '0=', ['LLC=PERCENT']),
            ('--load', '0=101', ['LLC=PERCENT']),
            ('--load', '0=1%%', ['LLC=PERCENT']),
            ('--load', '0=1,', ['LLC=PERCENT']),
            ('--load', '2=1', ['LLCs 0 to 1']),
            ('--uuid', 'vm1', ['UUID'])):
        tool.fails(2, [option, f"'{value if ',' not in value else ''}", *words],
                   *args, '--smp', '2', f'{option}={value}')
    for smp in ('0', 'x', '4,cores=3,sockets=3', '2,maxcpus=1'):
        tool.fails(2, ['--smp', f"'{smp}'"], *args, '--smp', smp)
    tool.fails(2, ['--smp', 'missing'], *args)
    tool.fails(2, ['--uuid', '2 times'], *args, '--smp', '1', '--uuid',
               '6b1f3c2a-0000-4000-8000-000000000000', '--uuid',
               '6b1f3c2a-0000-4000-8000-000000000001')


def test_plan_cpus_that_the_host_lacks(folder):
    make_tree(folder)
    write(folder, 'sys/devices/system/cpu/online', '0-6\n')
    args = ['plan', '--root', folder, '--smp', '2', '--cpus']
    tool.fails(1, ['8'], *args, '0,8')
    tool.fails(1, ['7', 'online'], *args, '0,7')


def test_usage_errors(folder):
    tool.fails(2, ['topo, plan, capture, sim, record, xml', '--help'])
    tool.fails(2, ["'list'", 'topo, plan, capture, sim, record, xml'], 'list')
    tool.fails(2, ["option '--json'"], '--json')
    for command in ('topo', 'plan', 'capture', 'sim'):
        hint = f'qemu-llcsched {command} --help'
        tool.fails(2, ['--frobnicate', hint], command, '--frobnicate')
        tool.fails(2, ["'surplus'", hint], command, 'surplus')
        tool.fails(2, ['--root', hint], command, '--root')
        tool.fails(2, ["--root ''"], command, '--root', '',
                   *(['--smp', '1'] * (command == 'plan')))
    tool.fails(2, ["--host ''"], 'topo', '--host', '')
    tool.fails(2, ["-o ''"], 'capture', '-o', '')
    for command in ('topo', 'plan'):
        tool.fails(2, ['--root', '--host', 'one'], command, '--root', folder,
                   '--host', folder, *(['--smp', '1'] * (command == 'plan')))


def test_help_and_version(_folder):
    with open(os.path.join(source, 'VERSION'), encoding='ascii') as version:
        assert tool.ok('--version') == f'qemu-llcsched {version.read()}'
    assert tool.ok('-h') == tool.ok('--help')
    for command in COMMANDS:
        assert f'\n  {command} ' in tool.ok('--help')
        text = tool.ok(command, '--help')
        assert text == tool.ok(command, '-h')
        assert text.startswith(f'Usage:\n  qemu-llcsched {command} ')


def test_man_page_has_every_option(_folder):
    path = os.path.join(source, 'docs/man/qemu-llcsched.1')
    with open(path, encoding='ascii') as page:
        man = page.read().replace('\\-', '-')
    for command in COMMANDS:
        assert f'.SS {command}\n' in man
        text = tool.ok(command, '--help')
        assert command in tool.run().stderr
        for option in re.findall(r'^  (?:-\w, )?(--[a-z-]+)', text, re.M):
            assert option in man, f'{option} of {command}'


def test_full_disk_is_told(folder):
    make_tree(folder)
    for args in (['topo'], ['topo', '--json'], ['plan', '--smp', '2'],
                 ['capture'], ['topo', '--help']):
        with open('/dev/full', 'w', encoding='ascii') as full:
            root = [] if '--help' in args else ['--root', folder]
            done = tool.run(*args, *root, stdout=full)
        assert done.returncode == 1, args
        assert 'No space left' in done.stderr, args
    tool.fails(1, ['/dev/full', 'No space left'], 'capture', '--root', folder,
               '-o', '/dev/full')


def test_closed_pipe_is_told(folder):
    make_tree(folder)
    reader, writer = os.pipe()
    os.close(reader)
    done = tool.run('topo', '--root', folder, stdout=writer)
    os.close(writer)
    assert done.returncode == 1
    assert 'Broken pipe' in done.stderr, done.stderr


def test_closed_stdout_is_told(folder):
    make_tree(folder)
    done = subprocess.run(['/bin/sh', '-c', 'exec "$0" "$@" >&-', tool.path,
                           'topo', '--root', folder], text=True, check=False,
                          stderr=subprocess.PIPE, timeout=120)
    assert done.returncode == 1, done
    assert 'Bad file descriptor' in done.stderr, done.stderr


def test_capture_reads_back_the_same(folder):
    make_tree(folder, isolated='3')
    path = os.path.join(folder, 'captured.host')
    text = tool.ok('capture', '--root', folder)
    assert tool.ok('capture', '--root', folder, '-o', path) == ''
    with open(path, encoding='utf-8') as captured:
        assert captured.read() == text
    again = json.loads(tool.ok('topo', '--host', path, '--json'))
    tree = json.loads(tool.ok('topo', '--root', folder, '--json'))
    for name in ('cpus', 'possible', 'isolated', 'llcs', 'cores', 'nodes'):
        assert again[name] == tree[name], name


def test_capture_of_this_host(folder):
    path = os.path.join(folder, 'this.host')
    text = tool.ok('capture')
    write(folder, 'this.host', text)
    again = json.loads(tool.ok('topo', '--host', path, '--json'))
    here = json.loads(tool.ok('topo', '--json'))
    for name in ('cpus', 'llcs', 'cores'):
        assert again[name] == here[name], name
    assert os.uname().nodename not in text


def test_capture_keeps_the_file_it_cannot_replace(folder):
    make_tree(folder)
    tool.fails(1, ['-o', 'No such file'], 'capture', '--root', folder,
               '-o', os.path.join(folder, 'no', 'such', 'folder'))
    tool.fails(1, ['-o', 'directory'], 'capture', '--root', folder,
               '-o', folder)


# The expected text, the command, the description, further arguments
GOLDEN = (
    ('topo-epyc-7451-2s.txt', 'topo', 'epyc-7451-2s'),
    ('topo-core-i7-1370p.txt', 'topo', 'core-i7-1370p'),
    ('topo-power9-ac922.txt', 'topo', 'power9-ac922'),
    ('topo-xeon-tulsa-4s-offline.txt', 'topo', 'xeon-tulsa-4s-offline'),
    ('plan-ryzen-7950x3d.txt', 'plan', 'ryzen-7950x3d',
     '--smp', '8,cores=4,threads=2', '--smp', '16,cores=8,threads=2',
     '--smp', '4'),
    ('plan-epyc-7451-2s.txt', 'plan', 'epyc-7451-2s', '--placement', 'core',
     '--load', '0=50%,15=30%', '--smp', '12,sockets=2,cores=3,threads=2',
     '--smp', '6,maxcpus=8'),
)


def golden_test(name, args):
    def test(_folder):
        host = os.path.join(hosts, args[1] + '.host')
        compare(name, tool.ok(args[0], '--host', host, *args[2:]))
    return test


def main():
    tests = [(f'/tool/{name[5:].replace("_", "-")}', test)
             for name, test in globals().items() if name.startswith('test_')]
    tests += [(f'/tool/golden/{name}', golden_test(name, args))
              for name, *args in GOLDEN]
    run_tests(tests)


main()
