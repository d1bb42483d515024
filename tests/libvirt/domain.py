# A domain of the tests: its XML, its guest, and what llcsched says of it
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import json
import os
import re
import select
import socket
import time

from private_host import CGROUPS, PATIENCE
from tool_case import Skip

XML = '''\
<domain type='{kind}'>
  <name>{name}</name>
  <memory unit='MiB'>16</memory>
  <vcpu current='2'>4</vcpu>
  <sysinfo type='fwcfg'>
    <entry name='opt/llcsched/mode'>{mode}</entry>
  </sysinfo>
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
    <loader type='rom'>{guest}</loader>
  </os>
  <features>
    <acpi/>
  </features>
  <devices>
    <emulator>{emulator}</emulator>
    <controller type='usb' model='none'/>
    <serial type='unix'>
      <source mode='bind' path='{serial}'/>
    </serial>
    <memballoon model='none'/>
{devices}  </devices>
</domain>
'''


def plain_xml(setup, name, serial, mode, devices):
    return XML.format(kind='kvm' if setup.kvm else 'qemu', mode=mode,
                      name=name, guest=setup.guest, emulator=setup.emulator,
                      serial=serial, devices=devices)


def wait_for(condition, what):
    """The first true value of a function, which takes time itself."""
    end = time.monotonic() + PATIENCE
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, \
            f'{what() if callable(what) else what}: not in {PATIENCE} s'


class Guest:
    """The serial line of the test guest (tests/guest)."""

    def __init__(self, path):
        self.line = socket.socket(socket.AF_UNIX)
        self.line.connect(path)
        self.text = ''

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.line.close()

    def say(self, letter):
        self.line.sendall(letter.encode())

    def wait(self, pattern):
        """The first match in what it says from now on."""
        end = time.monotonic() + PATIENCE
        while True:
            found = re.search(pattern, self.text)
            if found:
                self.text = self.text[found.end():]
                return found
            ready, _, _ = select.select([self.line], [], [],
                                        max(0, end - time.monotonic()))
            assert ready, f'the guest does not say {pattern}: {self.text}'
            more = self.line.recv(4096)
            assert more, f'the guest ended before it said {pattern}'
            self.text += more.decode()

    def ticks(self):
        self.say('t')
        found = self.wait(r'ticks ([0-9 ]+)\n')
        return [int(word) for word in found.group(1).split()]

    def must_live(self, vcpus=2):
        """Every vCPU must count on."""
        first = self.ticks()
        assert len(first) == vcpus, first
        wait_for(lambda: all(new != old
                             for new, old in zip(self.ticks(), first)),
                 'every vCPU works')


class Domain:
    """One domain that a libvirtd has."""

    def __init__(self, daemon, name, serial):
        self.daemon = daemon
        self.name = name
        self.serial = serial

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            print('# ' + self.log().replace('\n', '\n# '))
        self.daemon.try_virsh('destroy', self.name)
        self.daemon.virsh('undefine', self.name, '--managed-save',
                          '--snapshots-metadata')

    def virsh(self, command, *words):
        return self.daemon.virsh(command, self.name, *words)

    def start(self):
        self.virsh('start')
        return self

    def guest(self):
        return Guest(self.serial)

    def state(self):
        return self.virsh('domstate').strip()

    def query(self):
        """What query-llcsched returns: one object."""
        answer = json.loads(self.virsh('qemu-monitor-command', '--pretty',
                                       'query-llcsched'))
        assert len(answer['return']) == 1, answer
        return answer['return'][0]

    def wait(self, condition, what):
        """The first answer of query-llcsched that meets a condition."""
        last = {}

        def ask():
            last['answer'] = self.query()
            return condition(last['answer']) and last['answer']

        return wait_for(ask, lambda: f'{what}: {last["answer"]}')

    def pid(self):
        return int(self.daemon.read(f'run/libvirt/qemu/{self.name}.pid'))

    def log(self):
        """QEMU's messages, and how libvirt started it."""
        try:
            return self.daemon.read(f'var/log/libvirt/qemu/{self.name}.log')
        except FileNotFoundError:
            return 'no log'

    def kernel_mask(self, vcpu):
        """The mask of a vCPU's thread, as the kernel has it; or None."""
        path = f'/proc/{self.pid()}/task/{vcpu["thread-id"]}/status'
        try:
            with open(path, encoding='utf-8') as text:
                return re.search(r'Cpus_allowed_list:\s*(\S+)',
                                 text.read()).group(1)
        except (FileNotFoundError, ProcessLookupError):
            return None

    def cgroup_above(self):
        """The folder of the cgroup with all vCPUs in it."""
        thread = self.query()['vcpus'][0]['thread-id']
        with open(f'/proc/{self.pid()}/task/{thread}/cgroup',
                  encoding='utf-8') as text:
            lines = [line.rstrip('\n').split(':', 2) for line in text]
        first = [(f'{CGROUPS}/{fields[1]}', fields[2]) for fields in lines
                 if 'cpu' in fields[1].split(',')]
        second = [(CGROUPS, fields[2]) for fields in lines if not fields[1]]
        mount, path = (first or second)[0]
        above = os.path.dirname(path)
        if above == '/':
            raise Skip('libvirt makes no cgroups for CPU time here')
        return mount + above

    @staticmethod
    def limit_cgroup(folder, quota):
        """CPU time in 100 ms; 0: no limit."""
        first = os.path.join(folder, 'cpu.cfs_quota_us')
        if os.path.exists(first):
            path, text = first, str(quota or -1)
        else:
            path = os.path.join(folder, 'cpu.max')
            text = f'{quota or "max"} 100000'
        try:
            with open(path, 'w', encoding='ascii') as out:
                out.write(text)
        except OSError as error:
            raise Skip(f'no quota for {folder}: {error.strerror}') from error

    def placed(self, vcpus=2):
        """Wait until every vCPU has its planned mask, for the kernel too.

        That is the last word: libvirt resets the mask of a vCPU that it
        plugs, and the answer is of the look before.
        """
        answer = self.wait(
            lambda answer: answer['status'] == 'placed' and
            len(answer['vcpus']) == vcpus and
            all(vcpu['mask-state'] == 'ours' and
                vcpu['mask'] == vcpu['planned-mask'] == self.kernel_mask(vcpu)
                for vcpu in answer['vcpus']),
            f'{vcpus} vCPUs are placed')
        assert not answer['warnings'], answer
        return answer
