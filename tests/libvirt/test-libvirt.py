#!/usr/bin/env python3
#
# llcsched under a real libvirtd: what each command of virsh does to it
#
# Usage: test-libvirt.py TOOL GUEST SOURCE-ROOT [WORD...]
# With words, the tests whose names have one of them.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../tools'))

# pylint: disable=wrong-import-position
import private_host
from domain import Domain, plain_xml, wait_for
from domain_case import with_args
from libvirt_daemon import LibvirtDaemon
from tool_case import Skip, parse_list, run_tests

# A mask of one CPU is another than the one that libvirt sets, on every host;
# and what else runs on this one does not matter.
PLACE = ['--placement', 'cpu', '--interval', '100', '--guard-util', '100',
         '--guard-tasks', '100']
ALLOWED = PLACE + ['--allow-affinity']
CYCLES = 20
CLUSTER = 65536


class Setup:
    """The private host, its libvirtd, and what the domains are made of."""

    def __init__(self, tool, guest, source):
        qemu = os.environ.get('LLCSCHED_QEMU') or \
            os.path.join(source, 'build/bin/qemu-system-x86_64')
        for file, what in ((qemu, 'QEMU (scripts/build-qemu makes one)'),
                           (guest, 'test guest (it needs as and ld for x86)')):
            if not os.path.exists(file):
                private_host.skip_all(f'no {what} at {file}')
        manual = os.path.join(source, 'docs/interop/libvirt.rst')
        host = private_host.enter([qemu, guest, tool, manual])
        self.tool, self.guest, self.emulator, self.manual = \
            map(host.file, (tool, guest, qemu, manual))
        self.host = host
        self.kvm = host.kvm
        self.folder = private_host.HOME
        self.numbers = itertools.count(1)
        self.daemon = LibvirtDaemon('a')

    def next_name(self):
        return f'{self.host.prefix}{next(self.numbers)}'


def with_options(*options):
    """What changes a domain as qemu-llcsched xml does."""
    def change(text):
        return subprocess.run([setup.tool, 'xml', *options], input=text,
                              text=True, capture_output=True, check=True,
                              timeout=private_host.PATIENCE).stdout
    return change


def domain(options, mode='halt', devices='', change=None, daemon=None):
    """A new one, with llcsched and these options."""
    daemon = daemon or setup.daemon
    name = setup.next_name()
    serial = os.path.join(setup.folder, name)
    change = change or with_options(*options)
    daemon.virsh('define', '/dev/stdin', text=change(
        plain_xml(setup, name, serial, mode, devices)))
    return Domain(daemon, name, serial)


@contextlib.contextmanager
def another_daemon(name, qemu_conf=''):
    daemon = LibvirtDaemon(name, qemu_conf)
    daemon.start()
    refusal = daemon.refusal()
    if refusal:
        raise Skip(refusal)
    try:
        yield daemon
    finally:
        daemon.end()
        shutil.rmtree(daemon.home)


def masks(answer):
    return [vcpu['mask'] for vcpu in answer['vcpus']]


def threads(answer):
    return [vcpu['thread-id'] for vcpu in answer['vcpus']]


def later(vm, looks=3):
    """An answer some looks on: what is there then was not undone."""
    first = vm.query()['looks']
    return vm.wait(lambda answer: answer['looks'] >= first + looks,
                   f'{looks} looks')


def test_start_with_libvirts_sandbox_says_why_nothing_is_placed(_folder):
    with domain(PLACE) as vm:
        vm.start()
        answer = vm.wait(lambda answer: answer['status'] == 'degraded',
                         'the sandbox is seen')
        assert answer['effective-placement'] == 'off', answer
        answer = later(vm)
        for vcpu in answer['vcpus']:
            assert vcpu['mask-state'] == 'failed', vcpu
            assert vcpu['mask'] == answer['allowed'] == \
                vm.kernel_mask(vcpu), vcpu
        assert len(answer['warnings']) == 1, answer
        for word in ('seccomp filter', 'resourcecontrol=deny', 'libvirt'):
            assert word in answer['warnings'][0], answer
        assert vm.log().count('cannot be placed') == 1, vm.log()
        with vm.guest() as guest:
            guest.must_live()


def test_start_without_that_filter_places(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        answer = vm.placed()
        for vcpu in answer['vcpus']:
            assert len(parse_list(vcpu['mask'])) == 1, vcpu
        assert answer['effective-placement'] == 'cpu', answer
        assert answer['emulator-threads']['threads'], answer
        for thread in answer['emulator-threads']['threads']:
            assert thread['mask-state'] == 'ours', thread
        assert 'warning: llcsched' not in vm.log(), vm.log()
        with vm.guest() as guest:
            guest.must_live()


def test_start_ends_when_all_is_placed(_folder):
    """Not a look later: the first comes before the guest runs."""
    with domain(ALLOWED) as vm:
        vm.start()
        answer = vm.query()
        assert answer['status'] == 'placed', answer
        for vcpu in answer['vcpus']:
            assert vcpu['mask-state'] == 'ours', vcpu
            assert vcpu['mask'] == vm.kernel_mask(vcpu), vcpu


def test_start_leaves_the_user_and_the_rest_of_the_sandbox(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        with open(f'/proc/{vm.pid()}/status', encoding='utf-8') as text:
            status = text.read()
        user = re.search(r'\nUid:\s+(\d+)', status).group(1)
        assert int(user) != 0, status
        assert re.search(r'\nSeccomp:\s+2\n', status), status
        assert re.search(r'\nCapEff:\s+0+\n', status), status


def test_start_takes_json_from_the_xml(_folder):
    objects = [
        {'qom-type': 'llcsched', 'id': 'sched0', 'placement': 'cpu',
         'interval': 100, 'guard-util': 100, 'guard-tasks': 100},
        {'qom-type': 'llcsched-group', 'id': 'all', 'quota-us': 400000},
        {'qom-type': 'llcsched-group', 'id': 'first', 'parent': 'all',
         'vcpus': [0, 1], 'quota-us': 50000}]
    words = [word for item in objects
             for word in ('-object', json.dumps(item))]

    with domain([], change=lambda plain: with_args(*words, text=plain)) as vm:
        vm.start()
        answer = vm.query()
        assert answer['id'] == 'sched0', answer
        assert [group['id'] for group in answer['groups']] == \
            ['all', 'first'], answer
        assert answer['groups'][1]['vcpus'] == '0-1', answer
        assert answer['groups'][1]['effective-group'] == 'first', answer


# What virt-manager gives a desktop.
DESKTOP = '''\
    <controller type='usb' model='qemu-xhci' ports='15'/>
    <controller type='virtio-serial'/>
    <input type='tablet' bus='usb'/>
    <redirdev bus='usb' type='spicevmc'/>
    <channel type='spicevmc'>
      <target type='virtio' name='com.redhat.spice.0'/>
    </channel>
    <graphics type='spice' autoport='yes'/>
    <graphics type='vnc' autoport='yes'/>
    <sound model='ich9'/>
    <video>
      <model type='qxl'/>
    </video>
    <video>
      <model type='virtio'/>
    </video>
    <interface type='user'>
      <model type='virtio'/>
    </interface>
    <rng model='virtio'>
      <backend model='builtin'/>
    </rng>
'''


def test_start_of_a_desktop_needs_no_other_xml(_folder):
    done = subprocess.run([setup.emulator, '-device', 'help'], text=True,
                          capture_output=True, check=True,
                          timeout=private_host.PATIENCE)
    if 'name "qxl"' not in done.stdout:
        raise Skip('this QEMU has no SPICE: that of the packages has')
    with domain(ALLOWED, devices=DESKTOP, change=lambda plain: with_options(
            *ALLOWED)(plain.replace(
                "    <controller type='usb' model='none'/>\n", ''))) as vm:
        vm.start()
        vm.placed()
        for how in ('spice', 'vnc'):
            assert vm.virsh('domdisplay', '--type', how).startswith(how)
        with vm.guest() as guest:
            guest.must_live()


def test_info_llcsched_is_for_people(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        vm.placed()
        text = vm.virsh('qemu-monitor-command', '--hmp', 'info llcsched')
        assert re.match(r'llcsched0: 2 vCPUs on \d+ LLCs?: \w+ \(', text), text
        assert re.search(r'^ +1 +\d+ +\d+ ', text, re.M), text


def test_vcpupin_wins_and_is_reported(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        first, second = vm.placed()['vcpus']
        other = second['mask']
        assert other != first['mask']
        vm.virsh('vcpupin', '--live', '0', other)
        vm.wait(lambda answer: answer['vcpus'][0]['mask-state'] == 'foreign',
                'the pin is seen')
        pinned, kept = later(vm)['vcpus']
        assert pinned['reason'] == 'foreign', pinned
        assert pinned['mask'] == other == vm.kernel_mask(pinned), pinned
        assert kept['mask-state'] == 'ours', kept
        vm.virsh('vcpupin', '--live', '0', vm.query()['allowed'])
        vm.placed()


def test_vcpupin_in_the_xml_wins_from_the_start(_folder):
    cpu = max(os.sched_getaffinity(0))
    with domain(ALLOWED) as vm:
        vm.virsh('vcpupin', '--config', '1', str(cpu))
        vm.start()
        vm.wait(lambda answer: answer['status'] == 'placed', 'it is placed')
        free, pinned = later(vm)['vcpus']
        assert free['mask-state'] == 'ours', free
        assert pinned['mask-state'] == 'foreign', pinned
        assert pinned['mask'] == str(cpu) == vm.kernel_mask(pinned), pinned


def test_setvcpus_places_what_it_adds(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        vm.placed()
        with vm.guest() as guest:
            guest.must_live()
            vm.virsh('setvcpus', '--live', '3')
            guest.say('p')
            guest.wait('up, 3 vCPUs')
            vm.placed(vcpus=3)
            guest.must_live(vcpus=3)


def test_setvcpus_places_though_libvirt_resets_the_mask(_folder):
    """No later look would: the first ones after it do."""
    with domain(ALLOWED + ['--dynamic', 'off']) as vm:
        vm.start()
        vm.placed()
        vm.virsh('setvcpus', '--live', '4')
        vm.placed(vcpus=4)


def test_setvcpus_takes_away_again(_folder):
    with domain(ALLOWED) as vm:
        vm.virsh('setvcpus', '--config', '1')
        vm.start()
        vm.placed(vcpus=1)
        with vm.guest() as guest:
            guest.must_live(vcpus=1)
            vm.virsh('setvcpus', '--live', '2')
            guest.say('p')
            guest.wait('up, 2 vCPUs')
            vm.placed(vcpus=2)
            # libvirt waits some seconds for the guest, and may give up
            vm.daemon.try_virsh('setvcpus', vm.name, '--live', '1')
            guest.say('p')
            guest.wait('up, 1 vCPUs')
            vm.placed(vcpus=1)
            guest.must_live(vcpus=1)


def test_schedinfo_throttles_beside_llcsched(_folder):
    with domain(ALLOWED, mode='spin') as vm:
        vm.start()
        before = vm.placed()
        done = vm.daemon.try_virsh('schedinfo', vm.name, '--live', '--set',
                                   'vcpu_quota=20000')
        if 'not mounted' in done.stderr:
            raise Skip(done.stderr.strip())
        assert done.returncode == 0, done
        assert re.search(r'vcpu_quota +: 20000',
                         vm.virsh('schedinfo', '--live'))
        answer = vm.wait(
            lambda answer: answer['host-quota']['state'] == 'limited',
            'the quota is seen')
        quota = answer['host-quota']
        assert re.search(r'/qemu-.*/vcpu[01]$', quota['cgroup']), quota
        assert quota['quota-us'] == 20000, quota
        assert abs(quota['cpus'] - 2 * 20000 / quota['period-us']) < 0.001, \
            quota
        assert quota['cgroup'] in quota['explanation'], quota
        assert 'host quota: cgroup /' in \
            vm.virsh('qemu-monitor-command', '--hmp', 'info llcsched')
        assert answer['status'] == 'placed', answer
        assert masks(answer) == masks(before), answer
        assert answer['groups'] == [], answer
        assert not any(vcpu['throttled-ns'] for vcpu in answer['vcpus'])
        with vm.guest() as guest:
            guest.must_live()


def test_quota_of_a_cgroup_above_is_told(_folder):
    """Such as cpu.max of a slice or a pod; here of the domain's own."""
    with domain(PLACE + ['--quota', '15000']) as vm:
        vm.start()
        vm.wait(lambda answer: answer['host-quota']['state'] == 'none',
                'no quota is seen')
        above = vm.cgroup_above()
        vm.limit_cgroup(above, 100000)
        answer = vm.wait(
            lambda answer: answer['host-quota']['state'] == 'limited',
            'the quota is seen')
        quota = answer['host-quota']
        assert above.endswith(quota['cgroup']), (above, quota)
        assert quota['vcpus'] == '0-1' and quota['cpus'] == 1, quota
        group = answer['groups'][0]
        assert group['host-limited'], group
        assert group['effective-quota-us'] == 15000, group
        vm.limit_cgroup(above, 0)
        vm.wait(lambda answer: answer['host-quota']['state'] == 'none',
                'the end of the quota is seen')


def test_sched_core_of_libvirt_is_kept_and_told(_folder):
    with another_daemon('c', 'sched_core = "vcpus"\n') as daemon, \
            domain(ALLOWED + ['--cookie', 'blue', '--trust', 'best-effort'],
                   daemon=daemon) as vm:
        vm.start()
        for vcpu in vm.placed()['vcpus']:
            assert vcpu['cookie-state'] == 'foreign', vcpu
            assert vcpu['cookie-hash'], vcpu
        with vm.guest() as guest:
            guest.must_live()


def test_suspend_and_resume_change_no_mask(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        before = vm.placed()
        vm.virsh('suspend')
        assert vm.state() == 'paused'
        answer = vm.query()
        assert masks(answer) == masks(before), answer
        vm.virsh('resume')
        answer = vm.placed()
        assert threads(answer) == threads(before), answer
        with vm.guest() as guest:
            guest.must_live()


def test_managedsave_is_placed_when_it_comes_back(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        before = vm.placed()
        with vm.guest() as guest:
            ticks = guest.ticks()
        vm.virsh('managedsave')
        assert vm.state() == 'shut off'
        vm.start()
        after = vm.placed()
        assert set(threads(before)).isdisjoint(threads(after)), after
        with vm.guest() as guest:
            assert all(new >= old for new, old in zip(guest.ticks(), ticks))
            guest.must_live()


def qcow2(path):
    """An empty disk of one cluster: header, counts, and a first table."""
    header = struct.pack('>4sIQIIQIIQQIIQ', b'QFI\xfb', 2, 0, 0, 16, CLUSTER,
                         0, 1, 3 * CLUSTER, CLUSTER, 1, 0, 0)
    counts = struct.pack('>4H', 1, 1, 1, 1)
    table = struct.pack('>Q', 2 * CLUSTER)
    with open(path, 'wb') as disk:
        for part in (header, table, counts, b''):
            disk.write(part.ljust(CLUSTER, b'\0'))


def test_snapshot_is_placed_after_it_and_after_revert(folder):
    disk = os.path.join(folder, 'disk.qcow2')
    os.chmod(folder, 0o755)
    qcow2(disk)
    with domain(ALLOWED, devices=f'''\
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/>
      <source file='{disk}'/>
      <target dev='vda' bus='virtio'/>
    </disk>
''') as vm:
        vm.start()
        before = vm.placed()
        vm.virsh('snapshot-create-as', 'first')
        after = vm.placed()
        assert threads(after) == threads(before), after
        with vm.guest() as guest:
            guest.must_live()
        vm.virsh('snapshot-revert', 'first')
        vm.placed()
        with vm.guest() as guest:
            guest.must_live()
        vm.virsh('snapshot-delete', 'first')


def test_reset_changes_no_mask(_folder):
    with domain(ALLOWED) as vm:
        vm.start()
        before = vm.placed()
        with vm.guest() as guest:
            guest.must_live()
            vm.virsh('reset')
            guest.wait('up, 2 vCPUs')
            after = vm.placed()
            assert threads(after) == threads(before), after
            guest.must_live()


def test_reboot_is_placed_again(_folder):
    """libvirt asks by ACPI, then resets the guest that powered off."""
    with domain(ALLOWED) as vm:
        vm.start()
        before = vm.placed()
        with vm.guest() as guest:
            guest.must_live()
            vm.virsh('reboot', '--mode', 'acpi')
            guest.say('q')
            guest.wait('up, 2 vCPUs')
            after = vm.placed()
            assert threads(after) == threads(before), after
            guest.must_live()


def test_destroy_leaves_nothing(_folder):
    """Of starts and ends, no process, no cgroup and no file."""
    with domain(ALLOWED + ['--quota', '50000']) as vm:
        processes = setup.host.processes()
        files = None
        for cycle in range(CYCLES):
            vm.start()
            vm.placed()
            assert setup.host.cgroups() or not private_host.machine_cgroups()
            vm.virsh('destroy')
            assert wait_for(lambda: setup.host.processes() == processes,
                            setup.host.processes)
            assert not setup.host.cgroups(), setup.host.cgroups()
            # the first one makes folders that stay, as of any domain
            files = files or vm.daemon.files()
            assert vm.daemon.files() == files, \
                f'cycle {cycle}: {vm.daemon.files() ^ files}'
        assert not any(vm.name in name for name in files
                       if not name.endswith((f'/{vm.name}.xml',
                                             f'/{vm.name}.log'))), files


def test_libvirtd_killed_and_started_finds_all_as_it_was(_folder):
    with domain(ALLOWED + ['--quota', '50000']) as vm:
        vm.start()
        other = vm.placed()['vcpus'][1]['mask']
        vm.virsh('vcpupin', '--live', '0', other)
        before = vm.wait(
            lambda answer: answer['vcpus'][0]['mask-state'] == 'foreign',
            'the pin is seen')
        pid = vm.pid()
        for end in (signal.SIGKILL, signal.SIGTERM):
            vm.daemon.end(end)
            vm.daemon.start()
            assert vm.state() == 'running'
            after = later(vm)
            assert vm.pid() == pid
            assert threads(after) == threads(before), after
            assert masks(after) == masks(before), after
            assert [vcpu['mask-state'] for vcpu in after['vcpus']] == \
                ['foreign', 'ours'], after
            assert after['masks-set'] == before['masks-set'], after
            assert after['groups'][0]['quota-us'] == 50000, after
        with vm.guest() as guest:
            guest.must_live()
        vm.virsh('vcpupin', '--live', '0', after['allowed'])
        vm.placed()


def test_limits_of_the_xml_hold_in_the_sandbox(_folder):
    with domain(PLACE + ['--quota', '5000', '--period', '20000'],
                mode='spin') as vm:
        vm.start()
        answer = vm.wait(
            lambda answer: answer['groups'][0]['throttled-periods'] > 2,
            'the limit is reached')
        group = answer['groups'][0]
        assert group['id'] == 'llcsched0-limit', group
        assert group['vcpus'] == '0-3', group
        assert (group['quota-us'], group['period-us']) == (5000, 20000), group
        assert any(vcpu['throttled-ns'] for vcpu in answer['vcpus']), answer
        with vm.guest() as guest:
            guest.must_live()


def test_limits_change_by_the_monitor(_folder):
    with domain(PLACE + ['--quota', '5000', '--period', '20000'],
                mode='spin') as vm:
        vm.start()
        vm.virsh('qemu-monitor-command', json.dumps(
            {'execute': 'qom-set', 'arguments': {
                'path': '/objects/llcsched0-limit', 'property': 'quota-us',
                'value': 0}}))
        group = vm.query()['groups'][0]
        assert group['quota-us'] == 0 and not group['limited'], group


def test_migrate_is_placed_at_the_other_end(folder):
    with another_daemon('b') as target, \
            domain(ALLOWED + ['--quota', '50000']) as vm:
        vm.start()
        before = vm.placed()
        migrate(vm, target, folder)
        assert vm.state() == 'shut off'
        with Domain(target, vm.name + '-b', vm.serial + '-b') as there:
            after = there.placed()
            assert set(threads(before)).isdisjoint(threads(after)), after
            assert after['groups'][0]['quota-us'] == 50000, after
            with there.guest() as guest:
                guest.must_live()


def migrate(vm, target, folder):
    """To another libvirtd here, under another name and serial line."""
    path = os.path.join(folder, 'domain.xml')
    xml = vm.virsh('dumpxml', '--migratable', '--security-info')
    with open(path, 'w', encoding='utf-8') as out:
        out.write(xml.replace(vm.serial, vm.serial + '-b'))
    # QEMU's user makes the socket
    os.chmod(folder, 0o777)
    vm.virsh('migrate', target.uri, '--live', '--persistent', '--dname',
             vm.name + '-b', '--xml', path, '--persistent-xml', path,
             '--migrateuri', f'unix://{folder}/socket')


def test_manual_has_each_of_these_tests(_folder):
    with open(setup.manual, encoding='utf-8') as text:
        named = set(re.findall(r'``(/libvirt/[a-z0-9-]+)``', text.read()))
    have = {name for name, _ in all_tests() if '/manual-' not in name}
    assert named == have, named ^ have


def all_tests():
    return [(f'/libvirt/{name[5:].replace("_", "-")}', test)
            for name, test in globals().items() if name.startswith('test_')]


def main():
    words = sys.argv[4:]
    setup.daemon.start()
    print(f'# accel: {"kvm" if setup.kvm else "tcg"}', flush=True)
    run_tests([(name, test) for name, test in all_tests()
               if not words or any(word in name for word in words)])


for program in ('libvirtd', 'virsh', 'setpriv', 'unshare'):
    if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin'):
        private_host.skip_all(f'no {program} here')
if len(os.sched_getaffinity(0)) < 2:
    private_host.skip_all('it takes two CPUs')
setup = Setup(*sys.argv[1:4])
main()
