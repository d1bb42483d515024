# Domains to change, and libvirt's own opinion on the result
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import contextlib
import os
import select
import shutil
import signal
import subprocess

from tool_case import Skip

QEMU_NAMESPACE = 'http://libvirt.org/schemas/domain/qemu/1.0'
SCHEMA = '/usr/share/libvirt/schemas/domain.rng'
NOBODY = 65534

# As libvirt writes one, with what a careless program would change.
PLAIN = '''\
<domain type='kvm' id='7'>
  <name>vm &amp; more</name>
  <uuid>6b1f3c2a-0000-4000-8000-000000000001</uuid>
  <memory unit='GiB'>8</memory>
  <vcpu placement='static'>8</vcpu>
  <!-- a comment with <tags> & ampersands -->
  <os>
    <type arch='x86_64' machine='q35'>hvm</type>
  </os>
  <features>
    <acpi/>
  </features>
  <devices>
    <emulator>/usr/bin/qemu-system-x86_64</emulator>
    <serial type='file'><source path="/a&lt;b&gt;"   append='on' /></serial>
  </devices>
</domain>
'''


def args(*values, prefix='qemu', indent='    '):
    """Lines of <qemu:arg>."""
    return ''.join(f"{indent}<{prefix}:arg value='{value}'/>\n"
                   for value in values)


def with_args(*values, text=PLAIN):
    """A domain that has these QEMU arguments, as libvirt writes it."""
    head, tail = text.rsplit('</domain>', 1)
    return (head.replace('<domain ', f"<domain xmlns:qemu='{QEMU_NAMESPACE}' ",
                         1) +
            '  <qemu:commandline>\n' + args(*values) +
            '  </qemu:commandline>\n</domain>' + tail)


def validate(text):
    """By libvirt's schema, where it is installed."""
    if not os.path.exists(SCHEMA) or not shutil.which('xmllint'):
        raise Skip('no libvirt schema or no xmllint here')
    done = subprocess.run(['xmllint', '--noout', '--relaxng', SCHEMA, '-'],
                          input=text, text=True, capture_output=True,
                          check=False, timeout=60)
    assert done.returncode == 0, f'{done.stderr}\n{text}'


class Libvirt:
    """A libvirtd of our own, below a folder, as nobody if we are root."""

    def __init__(self, folder, programs):
        self.environment = {
            **os.environ, 'LC_ALL': 'C.UTF-8',
            'LIBVIRT_DEFAULT_URI': 'qemu:///session',
            'PATH': f"{programs}:{os.environ['PATH']}:/usr/sbin"}
        for name in ('HOME', 'XDG_RUNTIME_DIR', 'XDG_CONFIG_HOME',
                     'XDG_CACHE_HOME'):
            path = os.path.join(folder, name.lower())
            os.mkdir(path)
            self.environment[name] = path
            if os.getuid() == 0:
                os.chown(path, NOBODY, NOBODY)
        os.chmod(folder, 0o755)
        self.pid_file = os.path.join(self.environment['HOME'], 'pid')

    def run(self, *words):
        """Run a program as its user; it must work."""
        user = {'user': NOBODY, 'group': NOBODY, 'extra_groups': []} \
            if os.getuid() == 0 else {}
        done = subprocess.run(words, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=120, check=False,
                              env=self.environment, **user)
        assert done.returncode == 0, f'{words}: {done}'
        return done

    def virsh(self, *words):
        return self.run('virsh', *words)

    def start(self):
        """It goes into the background when it answers."""
        self.run('libvirtd', '--daemon', '--timeout', '120', '--pid-file',
                 self.pid_file)

    def stop(self):
        if os.path.exists(self.pid_file):
            with open(self.pid_file, encoding='ascii') as pid_file:
                pid = int(pid_file.read())
            daemon = os.pidfd_open(pid)
            signal.pidfd_send_signal(daemon, signal.SIGTERM)
            ended, _, _ = select.select([daemon], [], [], 60)
            os.close(daemon)
            assert ended, f'libvirtd {pid} does not end'


@contextlib.contextmanager
def libvirt(folder, programs):
    """Skips where libvirt or our own QEMU is not there."""
    for program in ('libvirtd', 'virsh'):
        if not shutil.which(program, path=os.environ['PATH'] + ':/usr/sbin'):
            raise Skip(f'no {program} here')
    daemon = Libvirt(folder, programs)
    try:
        daemon.start()
        yield daemon
    finally:
        daemon.stop()
