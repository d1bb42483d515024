# A host of its own for libvirt: mounts, processes, network and host name
#
# libvirtd as root writes to fixed places.  So the tests run in namespaces where
# these are empty and no D-Bus answers; whoever else uses libvirt here, and
# whatever it keeps, is out of reach.  The process namespace ends with the
# test, and every daemon and guest with it.  Cgroups alone are the host's: the
# folders of our domains are known by their name, and removed at the end.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import ctypes
import glob
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

HOME = '/run/llcsched'
CGROUPS = '/sys/fs/cgroup'
INSIDE = 'LLCSCHED_PRIVATE_HOST'
UNSHARE = ['unshare', '--mount', '--pid', '--net', '--uts', '--ipc', '--fork',
           '--kill-child', '--mount-proc']
MS_BIND = 4096
PATIENCE = int(os.environ.get('LLCSCHED_TEST_PATIENCE', 60))
# Debian's, for where its package that makes them is not installed
USER = 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin\n'
GROUP = 'libvirt-qemu:x:64055:\n'


def skip_all(reason):
    print(f'1..0 # SKIP {reason}')
    sys.exit(0)


def mount(source, target, kind='', flags=0, data=''):
    """mount(2).  mount(8) would resolve what is not to be resolved."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(source.encode(), target.encode(), kind.encode(),
                  ctypes.c_ulong(flags), data.encode()) < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), target)


def bind(source, target):
    mount(source, target, flags=MS_BIND)


def machine_cgroups():
    """libvirt's folder in each hierarchy, where it has no systemd to ask."""
    return set(glob.glob(f'{CGROUPS}/machine') +
               glob.glob(f'{CGROUPS}/*/machine'))


def domain_cgroups(name):
    """Folders of domains whose names begin with @name, deepest last."""
    return [path for top in machine_cgroups()
            for scope in glob.glob(f'{top}/qemu-*-{glob.escape(name)}*')
            for path, _, _ in os.walk(scope)]


def remove_cgroups(name, before):
    """What a test that was cut short left, and what was not there before."""
    end = time.monotonic() + PATIENCE
    while domain_cgroups(name):
        try:
            for path in reversed(domain_cgroups(name)):
                os.rmdir(path)
        except OSError:
            # guests that were killed are still on their way out
            if time.monotonic() > end:
                raise
    for path in machine_cgroups() - before:
        if not glob.glob(f'{path}/*/'):
            os.rmdir(path)


def run_inside():
    """Run this program again on a host of its own; never returns."""
    if os.getuid():
        skip_all('a libvirtd that changes users needs root')
    tried = subprocess.run([*UNSHARE, 'true'], stderr=subprocess.PIPE,
                           text=True, check=False)
    if tried.returncode:
        skip_all(f'no namespaces here: {tried.stderr.strip()}')
    before = machine_cgroups()
    name = f'llcsched-{os.getpid()}-'
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        with tempfile.TemporaryDirectory(prefix='llcsched-') as folder:
            done = subprocess.run(
                ['setpriv', '--pdeathsig', 'KILL', *UNSHARE, sys.executable,
                 *sys.argv], check=False,
                env={**os.environ, INSIDE: f'{name}:{folder}'})
    finally:
        remove_cgroups(name, before)
    sys.exit(done.returncode)


def be_init():
    """The first process of a namespace reaps; a child of it goes on."""
    child = os.fork()
    if not child:
        return
    while True:
        pid, status = os.wait()
        if pid == child:
            os._exit(os.waitstatus_to_exitcode(status) & 255)


def add_user():
    """The user that libvirt's package for Debian makes."""
    for file, line in (('passwd', USER), ('group', GROUP)):
        with open(f'/etc/{file}', encoding='utf-8') as text:
            old = text.read()
        if '\n' + line.split(':', 1)[0] + ':' not in old:
            with open(f'{HOME}/{file}', 'w', encoding='utf-8') as out:
                out.write(old + line)
            bind(f'{HOME}/{file}', f'/etc/{file}')


def open_kvm():
    """A /dev/kvm that libvirt's user may open, where we may. Is there one?"""
    try:
        os.close(os.open('/dev/kvm', os.O_RDWR))
    except OSError:
        return False
    node = f'{HOME}/kvm'
    os.mknod(node, 0o666 | stat.S_IFCHR, os.stat('/dev/kvm').st_rdev)
    os.chmod(node, 0o666)
    bind(node, '/dev/kvm')
    return True


def empty_host(folder, files):
    """Mount empty /run and /var, with copies of @files in HOME."""
    mount('llcsched', folder, 'tmpfs', data='mode=755')
    for path in files:
        os.chmod(shutil.copy(path, folder), 0o755)
    # by number, for the folder may be in what is hidden now
    home = os.open(folder, os.O_PATH)
    for top in ('/run', '/var'):
        mount('llcsched', top, 'tmpfs', data='mode=755')
    for path in (HOME, '/var/lib', '/var/cache', '/var/log'):
        os.mkdir(path)
    os.symlink('/run', '/var/run')
    bind(f'/proc/self/fd/{home}', HOME)
    os.close(home)
    os.environ['TMPDIR'] = HOME
    tempfile.tempdir = HOME


class PrivateHost:
    """Made by the program that run_inside() started."""

    def __init__(self, files):
        self.prefix, folder = os.environ[INSIDE].split(':', 1)
        empty_host(folder, files)
        add_user()
        self.kvm = open_kvm()

    @staticmethod
    def file(path):
        """Where the copy of a file is."""
        return os.path.join(HOME, os.path.basename(path))

    @staticmethod
    def processes():
        """Command lines of all that there are."""
        found = {}
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/cmdline', encoding='utf-8') as text:
                    found[int(pid)] = text.read().replace('\0', ' ')
            except (FileNotFoundError, ProcessLookupError):
                pass
        return found

    def cgroups(self):
        """Folders of our domains."""
        return domain_cgroups(self.prefix)


def enter(files):
    """The private host; in the program that is called first, never returns."""
    if INSIDE not in os.environ:
        run_inside()
    be_init()
    return PrivateHost(files)
