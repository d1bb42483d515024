# A libvirtd in system mode, with folders of its own
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import os
import select
import signal
import subprocess
import uuid

from private_host import HOME, PATIENCE

FOLDERS = ('run/libvirt', 'etc/libvirt', 'var/lib/libvirt',
           'var/cache/libvirt', 'var/log/libvirt')
# In a mount and host name namespace of its own, so that there can be two.
START = '''\
set -eu
home=$1
hostname "$2"
shift 2
for folder; do
    mkdir -p "/$folder"
    mount --bind "$home/$folder" "/$folder"
done
exec libvirtd --daemon --pid-file "$home/pid"
'''
QEMU_CONF = '''\
stdio_handler = "file"
security_driver = "none"
'''


class LibvirtDaemon:
    """One libvirtd, as root; its guests run as Debian's libvirt-qemu."""

    def __init__(self, name, qemu_conf=''):
        self.name = name
        self.home = os.path.join(HOME, name)
        for folder in FOLDERS:
            os.makedirs(f'{self.home}/{folder}')
        self.uri = ('qemu:///system?socket='
                    f'{self.home}/run/libvirt/libvirt-sock')
        self.write('etc/libvirt/qemu.conf', QEMU_CONF + qemu_conf)
        self.write('etc/libvirt/libvirtd.conf',
                   'auth_unix_rw = "none"\n'
                   f'log_outputs = "3:file:{self.home}/log"\n'
                   f'host_uuid = "{uuid.uuid4()}"\n')

    def write(self, name, text):
        with open(os.path.join(self.home, name), 'w',
                  encoding='utf-8') as out:
            out.write(text)

    def read(self, name):
        with open(os.path.join(self.home, name), encoding='utf-8') as text:
            return text.read()

    def start(self):
        """It goes into the background when it answers."""
        done = subprocess.run(
            ['unshare', '--mount', '--uts', 'sh', '-c', START, 'sh', self.home,
             self.name, *FOLDERS], text=True, stdin=subprocess.DEVNULL,
            capture_output=True, check=False, timeout=PATIENCE,
            env={**os.environ, 'PATH': os.environ['PATH'] + ':/usr/sbin'})
        assert done.returncode == 0, done

    def refusal(self):
        """Why it ended by itself since it does not like its qemu.conf."""
        if self.try_virsh('list').returncode == 0:
            return ''
        errors = [line.split(' : ')[-1] for line in
                  self.read('log').splitlines() if ': error :' in line]
        # what other drivers could not find is said as well
        return next((error for error in errors if 'sched' in error.lower()),
                    'libvirtd ended')

    def end(self, with_signal=signal.SIGTERM):
        """Until it is gone.  The guests run on."""
        pid = int(self.read('pid'))
        daemon = os.pidfd_open(pid)
        signal.pidfd_send_signal(daemon, with_signal)
        ended, _, _ = select.select([daemon], [], [], PATIENCE)
        os.close(daemon)
        assert ended, f'libvirtd {pid} does not end'

    def try_virsh(self, *words, text=None):
        if text is None:
            source = {'stdin': subprocess.DEVNULL}
        else:
            source = {'input': text}
        return subprocess.run(
            ['virsh', '--quiet', '--connect', self.uri, *words], text=True,
            capture_output=True, check=False, timeout=2 * PATIENCE,
            env={**os.environ, 'LC_ALL': 'C.UTF-8'}, **source)

    def virsh(self, *words, text=None):
        """What it says; it must work."""
        done = self.try_virsh(*words, text=text)
        assert done.returncode == 0, f'virsh {words}: {done.stderr}'
        return done.stdout

    def files(self):
        """What it keeps of domains: all but its own lasting pieces."""
        return {os.path.join(path, name)
                for folder in FOLDERS if 'cache' not in folder
                for path, folders, names in os.walk(f'{self.home}/{folder}')
                for name in folders + names}
