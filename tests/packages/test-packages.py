#!/usr/bin/env python3
#
# The .deb files: they install, run a guest under libvirt, upgrade and purge
#
# Usage: test-packages.py FOLDER-OF-DEBS GUEST SOURCE-ROOT
#
# The tests are steps of one life: each goes on where the one before it ended.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             '../tools'))

# pylint: disable=wrong-import-position
import copy_of_host as host
from tool_case import Skip, run_tests, write

QEMU = 'qemu-system-x86-llcsched'
TOOLS = 'qemu-llcsched'
HELPER = 'qemu-llcsched-helper'
EMULATOR = '/usr/bin/qemu-system-x86_64-llcsched'
RULES = '/etc/apparmor.d/abstractions/libvirt-qemu.d/llcsched'
ABSTRACTION = '/etc/apparmor.d/abstractions/libvirt-qemu'
SITE = '/etc/apparmor.d/local/abstractions/libvirt-qemu'
SITE_RULE = '  /srv/** r,\n'
INCLUDE = 'include if exists <abstractions/libvirt-qemu.d>\n'
# What a libvirt guest shows of an installed QEMU.
GUEST_TESTS = ('start-without-that-filter-places',
               'start-of-a-desktop-needs-no-other-xml',
               'limits-of-the-xml-hold-in-the-sandbox')
folder_of_debs, guest, source = map(os.path.abspath, sys.argv[1:4])


def debs():
    found = [path for path in glob.glob(f'{folder_of_debs}/*.deb')
             if '-dbgsym_' not in path]
    assert len(found) == 3, found
    return found


def text_of(name):
    with open(host.path(name), encoding='utf-8') as text:
        return text.read()


def status(package):
    return host.run('dpkg-query', '-W', '-f', '${db:Status-Abbrev}',
                    package).stdout.strip()


def test_lintian_has_no_word_to_say(_folder):
    if not shutil.which('lintian'):
        raise Skip('no lintian here')
    done = subprocess.run(
        ['lintian', '--allow-root', '--fail-on', 'error,warning', *debs()],
        text=True, capture_output=True, check=False, timeout=600)
    assert done.returncode == 0, done
    assert not done.stdout, done


def test_nothing_of_the_distribution_is_replaced(_folder):
    for deb in debs():
        files = subprocess.run(['dpkg-deb', '--fsys-tarfile', deb],
                               capture_output=True, check=True)
        names = subprocess.run(['tar', '-t'], input=files.stdout,
                               capture_output=True, check=True)
        for name in names.stdout.decode().splitlines():
            if not name.endswith('/'):
                owner = host.run('dpkg-query', '-S', name[1:])
                assert owner.returncode != 0, owner.stdout


def test_install_gives_programs_and_manuals(_folder):
    # as Debian 12's libvirt, which has no libvirt-qemu.d
    write(host.ROOT, ABSTRACTION[1:], '  include <abstractions/base>\n'
          '  include <local/abstractions/libvirt-qemu>\n')
    write(host.ROOT, SITE[1:], SITE_RULE)
    host.must('dpkg', '--install', *debs())
    for package in (QEMU, TOOLS, HELPER):
        assert status(package) == 'ii', status(package)
        assert host.must('dpkg', '--verify', package) == ''
    options = host.must(EMULATOR, '-object', 'llcsched,help')
    assert re.search(r'^ +placement=<', options, re.M), options
    host.must(TOOLS, 'topo')
    host.must(f'/usr/libexec/{HELPER}', '--version')
    assert host.must('getent', 'group', 'llcsched')
    for page in (TOOLS, f'{TOOLS}-define', f'{TOOLS}-edit',
                 os.path.basename(EMULATOR)):
        found = glob.glob(host.path(f'/usr/share/man/man1/{page}.1.gz'))
        assert found, page


def test_install_adds_the_rules_for_apparmor(_folder):
    assert 'shared_cpu_' in text_of(RULES)
    assert text_of(SITE) == SITE_RULE + INCLUDE


def test_a_guest_runs_under_libvirt(_folder):
    done = host.run(
        f'{source}/tests/libvirt/test-libvirt.py', f'/usr/bin/{TOOLS}', guest,
        source, *GUEST_TESTS, env={'LLCSCHED_QEMU': EMULATOR,
                                   'PYTHONDONTWRITEBYTECODE': '1'})
    skipped = re.search(r'^1\.\.0 # SKIP (.*)', done.stdout, re.M)
    if skipped:
        raise Skip(skipped.group(1))
    assert done.returncode == 0, f'{done.stdout}{done.stderr}'
    assert len(re.findall(r'^ok ', done.stdout, re.M)) == len(GUEST_TESTS), \
        done.stdout


def newer(folder, deb):
    """The same package with a higher version."""
    tree = os.path.join(folder, 'tree')
    subprocess.run(['dpkg-deb', '--raw-extract', deb, tree], check=True)
    control = os.path.join(tree, 'DEBIAN/control')
    with open(control, encoding='utf-8') as text:
        changed = re.sub(r'^Version: .*$', r'\g<0>+1', text.read(),
                         flags=re.M)
    with open(control, 'w', encoding='utf-8') as out:
        out.write(changed)
    name = host.path(f'/tmp/{os.path.basename(deb)}')
    subprocess.run(['dpkg-deb', '--build', '-Znone', tree, name], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return f'/tmp/{os.path.basename(deb)}'


def test_upgrade_keeps_what_the_site_changed(folder):
    changed = text_of(RULES) + '  /srv/more r,\n'
    write(host.ROOT, RULES[1:], changed)
    host.must('dpkg', '--force-confold', '--install',
              *(newer(folder, deb) for deb in debs()))
    version = host.must('dpkg-query', '-W', '-f', '${Version}', QEMU)
    assert version.endswith('+1'), version
    assert text_of(RULES) == changed
    assert text_of(SITE) == SITE_RULE + INCLUDE
    host.must(EMULATOR, '-object', 'llcsched,help')


def test_remove_leaves_the_configuration_alone(_folder):
    host.must('dpkg', '--remove', TOOLS, QEMU, HELPER)
    assert status(QEMU) == 'rc', status(QEMU)
    assert os.path.exists(host.path(RULES))
    assert not os.path.exists(host.path(EMULATOR))
    assert text_of(SITE) == SITE_RULE


def test_purge_leaves_nothing(_folder):
    host.must('dpkg', '--purge', TOOLS, QEMU, HELPER)
    assert text_of(SITE) == SITE_RULE
    for name in (SITE, ABSTRACTION):
        os.remove(host.path(name))
    left = {name for name in host.changes() if 'llcsched' in name}
    assert not left, left


def main():
    if not glob.glob(f'{folder_of_debs}/*.deb'):
        host.skip_all(f'no packages in {folder_of_debs} '
                      '(scripts/build-deb --prebuilt makes them)')
    host.enter()
    run_tests([(f'/packages/{name[5:].replace("_", "-")}', test)
               for name, test in list(globals().items())
               if name.startswith('test_')])


main()
