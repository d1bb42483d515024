# A copy of this machine, for packages to be installed into
#
# What is written goes to memory, and is gone with the mount namespace of the
# program: /usr, /etc and dpkg's own data of the machine stay as they are.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import os
import subprocess
import sys

INSIDE = 'LLCSCHED_PACKAGES_INSIDE'
TOP = '/mnt'
ROOT = f'{TOP}/root'
CHANGES = f'{TOP}/changes'
SETUP = f'''\
set -e
mount -t tmpfs -o mode=755 llcsched {TOP}
mkdir {CHANGES} {TOP}/work {ROOT}
mount -t overlay -o lowerdir=/,upperdir={CHANGES},workdir={TOP}/work \
    llcsched {ROOT}
for folder in proc sys dev; do
    mount --rbind /$folder {ROOT}/$folder
done
mount -t tmpfs -o mode=755 llcsched {ROOT}/run
'''


def skip_all(reason):
    print(f'1..0 # SKIP {reason}')
    sys.exit(0)


def enter():
    """Go on in a namespace with the copy mounted; returns only there."""
    if INSIDE not in os.environ:
        if os.getuid():
            skip_all('installing packages needs root')
        done = subprocess.run(
            ['unshare', '--mount', sys.executable, *sys.argv], check=False,
            env={**os.environ, INSIDE: 'yes'})
        sys.exit(done.returncode)
    done = subprocess.run(['sh', '-c', SETUP], text=True, check=False,
                          capture_output=True)
    if done.returncode:
        skip_all(f'no copy of this machine: {done.stderr.strip()}')


def run(*words, timeout=600, **kwargs):
    """In the copy; whatever it returns."""
    env = {**os.environ, 'PATH': '/usr/sbin:/usr/bin:/sbin:/bin',
           'LC_ALL': 'C.UTF-8', 'DEBIAN_FRONTEND': 'noninteractive',
           **kwargs.pop('env', {})}
    env.pop(INSIDE)
    return subprocess.run(['chroot', ROOT, *words], text=True, check=False,
                          capture_output=True, timeout=timeout, env=env,
                          stdin=subprocess.DEVNULL)


def must(*words, **kwargs):
    """Its output; it must work."""
    done = run(*words, **kwargs)
    assert done.returncode == 0, f'{words}: {done.stdout}{done.stderr}'
    return done.stdout


def path(name):
    return f'{ROOT}/{name.lstrip("/")}'


def changes():
    """All that was made or changed, but for what dpkg and its triggers keep."""
    own = ('var/lib/dpkg', 'var/log', 'var/cache', 'etc/ld.so.cache', 'mnt',
           'run', 'tmp', 'var/tmp', 'root')
    found = set()
    for folder, names, files in os.walk(CHANGES):
        where = os.path.relpath(folder, CHANGES)
        for name in names + files:
            full = os.path.normpath(os.path.join(where, name))
            if not any(full == one or full.startswith(one + '/')
                       for one in own):
                found.add(full)
    return found
