#!/usr/bin/env python3
#
# The rules for AppArmor and SELinux: their compilers take them
#
# Usage: test-policies.py SOURCE-ROOT
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../tools'))

# pylint: disable=wrong-import-position
from tool_case import Skip, run_tests, write

APPARMOR = '/etc/apparmor.d'
PATH = os.environ['PATH'] + ':/usr/sbin:/sbin'
# As libvirt makes one for each guest, and what stands for its own abstraction
# where libvirt's is not installed.
GUEST = '''\
include <tunables/global>
profile libvirt-1 flags=(attach_disconnected) {
  include <abstractions/libvirt-qemu>
  include <abstractions/libvirt-qemu.d/llcsched>
}
'''
DAEMON = '''\
include <tunables/global>
profile libvirtd /usr/sbin/libvirtd flags=(attach_disconnected) {
  include <abstractions/base>
  include <local/usr.sbin.libvirtd>
}
'''
STAND_IN = '  include <abstractions/base>\n'
source = os.path.abspath(sys.argv[1])


def contrib(name):
    return os.path.join(source, 'contrib', name)


def text_of(name):
    with open(contrib(name), encoding='utf-8') as text:
        return text.read()


def run(*words, folder):
    if not shutil.which(words[0], path=PATH):
        raise Skip(f'no {words[0]} here')
    return subprocess.run(words, cwd=folder, text=True, check=False,
                          capture_output=True, timeout=60,
                          env={**os.environ, 'PATH': PATH})


def apparmor(folder, profile, rules):
    """Compile a profile with our rules; nothing is loaded."""
    for name in ('abi', 'abstractions', 'tunables'):
        if not os.path.isdir(f'{APPARMOR}/{name}'):
            raise Skip('AppArmor has no rules of its own here')
        shutil.copytree(f'{APPARMOR}/{name}', f'{folder}/{name}',
                        dirs_exist_ok=True)
    if not os.path.exists(f'{folder}/abstractions/libvirt-qemu'):
        write(folder, 'abstractions/libvirt-qemu', STAND_IN)
    os.makedirs(f'{folder}/local/abstractions', exist_ok=True)
    if not os.path.exists(f'{folder}/local/abstractions/libvirt-qemu'):
        write(folder, 'local/abstractions/libvirt-qemu', '')
    for name, text in rules.items():
        write(folder, name, text)
    write(folder, 'profile', profile)
    return run('apparmor_parser', '--skip-kernel-load', '--skip-cache',
               '--base', folder, 'profile', folder=folder)


def guest_rules(text):
    return {'abstractions/libvirt-qemu.d/llcsched': text}


def test_apparmor_takes_the_rules_of_guests(folder):
    done = apparmor(folder, GUEST, guest_rules(
        text_of('apparmor/libvirt-qemu')))
    assert done.returncode == 0, done


def test_apparmor_takes_the_rules_of_libvirtd(folder):
    done = apparmor(folder, DAEMON, {
        'local/usr.sbin.libvirtd': text_of('apparmor/libvirtd')})
    assert done.returncode == 0, done


def test_apparmor_would_find_an_error(folder):
    done = apparmor(folder, GUEST, guest_rules(
        text_of('apparmor/libvirt-qemu') + '  /sys/** readable,\n'))
    assert done.returncode != 0, done


def test_apparmor_lets_guests_write_nothing(_folder):
    rules = re.findall(r'^  (?:owner )?(\S+) (\S+),$',
                       text_of('apparmor/libvirt-qemu'), re.M)
    assert len(rules) > 20, rules
    for path, how in rules:
        assert how in ('r', 'mr', 'rmix'), (path, how)
        assert how == 'r' or '/bin/' in path or 'llcsched' in path, path


def selinux(folder, text):
    write(folder, 'llcsched.te', text)
    return run('checkmodule', '-M', '-m', '-o', 'llcsched.mod', 'llcsched.te',
               folder=folder)


def test_selinux_takes_the_module(folder):
    done = selinux(folder, text_of('selinux/llcsched.te'))
    assert done.returncode == 0, done
    done = run('semodule_package', '-o', 'llcsched.pp', '-m', 'llcsched.mod',
               '-f', contrib('selinux/llcsched.fc'), folder=folder)
    assert done.returncode == 0, done
    assert os.path.getsize(f'{folder}/llcsched.pp') > 500


def test_selinux_would_find_an_error(folder):
    done = selinux(folder, text_of('selinux/llcsched.te') +
                   'allow virt_domain no_such_t:file read;\n')
    assert done.returncode != 0, done


def test_selinux_lets_guests_write_nothing(_folder):
    allowed = re.findall(r'^allow virt_domain (\S+) \{ (.*) \};$',
                         text_of('selinux/llcsched.te'), re.M)
    assert len(allowed) > 5, allowed
    for what, how in allowed:
        assert what == 'self:process' or \
            set(how.split()) <= {'getattr', 'open', 'read', 'search'}, \
            (what, how)


run_tests([(f'/policies/{name[5:].replace("_", "-")}', test)
           for name, test in list(globals().items())
           if name.startswith('test_')])
