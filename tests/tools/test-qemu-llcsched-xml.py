#!/usr/bin/env python3
#
# qemu-llcsched xml: what it changes, what it leaves alone, what it refuses
#
# Usage: test-qemu-llcsched-xml.py PROGRAM SOURCE-ROOT
# LLCSCHED_LIBVIRT_XML=DIR: round trips of every domain below DIR as well, such
# as the tests folder of libvirt's source.
#
# Copyright (c) 2026 The llcsched authors
#
# SPDX-License-Identifier: GPL-2.0-or-later

import json
import os
import re
import shutil
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

from domain_case import (PLAIN, QEMU_NAMESPACE, args, libvirt, validate,
                         with_args)
from tool_case import Skip, Tool, make_tree, run_tests, write

tool = Tool(sys.argv[1])
source = sys.argv[2]
hosts = os.path.join(source, 'tests/hosts')
contrib = os.path.join(source, 'contrib')
SANDBOX = ('on,obsolete=deny,elevateprivileges=deny,spawn=deny,'
           'resourcecontrol=allow')
DENY = '-sandbox', 'on,resourcecontrol=deny'
ALL = ['--placement', 'core', '--dynamic', 'off', '--interval', '500',
       '--cpus', '0-7,16', '--guard-util', '30', '--guard-tasks', '40',
       '--prefer', 'cache', '--emulator-threads', 'other', '--cookie',
       'a,<"&\'>', '--trust', 'best-effort', '--trust-backend', 'auto',
       '--slice', '2000', '--steal-time', 'off', '--quota', '5000',
       '--period', '20000', '--burst', '1000', '--weight', '300',
       '--vcpus', '0-1,3',
       '--allow-affinity', '--emulator', '/opt/a&b/qemu']


def add(text, *options):
    return tool.ok('xml', *options, input=text)


def remove(text, *options):
    return tool.ok('xml', '--remove', *options, input=text)


def refused(words, text, *options, status=1):
    tool.fails(status, words, 'xml', *options, input=text)


def qemu(name):
    return f'{{{QEMU_NAMESPACE}}}{name}'


def values(text):
    """QEMU's arguments, as libvirt reads them."""
    root = ElementTree.fromstring(text)
    return [arg.get('value') for line in root.findall(qemu('commandline'))
            for arg in line.findall(qemu('arg'))]


def without_lines(text, *words):
    return ''.join(line for line in text.splitlines(keepends=True)
                   if not any(word in line for word in words))


def test_without_options_the_object_alone_is_added(_folder):
    text = add(PLAIN)
    assert values(text) == ['-object', 'llcsched,id=llcsched0']
    assert text == PLAIN.replace('</domain>', f'''\
  <qemu:commandline xmlns:qemu='{QEMU_NAMESPACE}'>
    <qemu:arg value='-object'/>
    <qemu:arg value='llcsched,id=llcsched0'/>
  </qemu:commandline>
</domain>''')


def test_every_option_arrives(_folder):
    text = add(PLAIN, *ALL)
    assert values(text) == [
        '-object', 'llcsched,id=llcsched0,placement=core,dynamic=off,'
        'interval=500,cpus=0-7,cpus=16,guard-util=30,guard-tasks=40,'
        'prefer=cache,emulator=other,cookie=a,,<"&\'>,trust=best-effort,'
        'trust-backend=auto,slice-us=2000,steal-time=off',
        '-object', 'llcsched-group,id=llcsched0-limit,quota-us=5000,'
        'period-us=20000,burst-us=1000,weight=300,vcpus=0-1,vcpus=3',
        '-sandbox', SANDBOX]
    root = ElementTree.fromstring(text)
    assert root.find('devices/emulator').text == '/opt/a&b/qemu'
    assert [delete.get('capability') for delete in
            root.findall(f'{qemu("capabilities")}/{qemu("del")}')] == \
        ['seccomp-sandbox']


def test_a_limit_is_for_all_vcpus_unless_they_are_named(_folder):
    assert values(add(PLAIN, '--quota', '5000'))[3] == \
        'llcsched-group,id=llcsched0-limit,vcpus=0-7,quota-us=5000'
    one = re.sub('<vcpu.*\n', '', PLAIN)
    assert values(add(one, '--period', '5000'))[3] == \
        'llcsched-group,id=llcsched0-limit,vcpus=0,period-us=5000'


def test_add_then_remove_gives_the_input_to_the_byte(_folder):
    texts = {
        'plain': PLAIN,
        'declared': PLAIN.replace('<domain ', '<domain xmlns:qemu='
                                  f'"{QEMU_NAMESPACE}" '),
        'other prefix': PLAIN.replace('<domain ',
                                      f'<domain xmlns:q="{QEMU_NAMESPACE}" '),
        'prefix taken': PLAIN.replace('<domain ', '<domain xmlns:qemu="x" '),
        'arguments': with_args('-device', 'foo', *DENY[:1], 'on'),
        'metadata': PLAIN.replace('<memory', '<metadata>\n    <a:b xmlns:a="c"'
                                  '/>\n  </metadata>\n  <memory'),
        'no emulator': without_lines(PLAIN, '<emulator>'),
        'odd emulator': PLAIN.replace('/usr/bin/qemu', '\n\t/usr<!--x-->/bin/'
                                      "&#x71;emu"),
        'one line': re.sub(r'>\s+<', '><', PLAIN),
        'one line, no end': re.sub(r'>\s+<', '><', PLAIN).strip(),
        'tabs': PLAIN.replace('  ', '\t'),
        'deep in white space': PLAIN.replace('\n', '\n\n   \n'),
        'declaration': "<?xml version='1.0' encoding='utf-8'?>\n" + PLAIN,
        'BOM': '\ufeff' + PLAIN,
        'other scripts': PLAIN.replace('vm &amp;', '\u6a5f\u68b0 \U0001f600'),
        'comments around': f'<!-- a -->\n{PLAIN}<!-- </domain> -->\n<?p q?>\n',
        'CDATA': PLAIN.replace('vm &amp; more', '<![CDATA[<domain>]]>'),
        'bare': "<domain type='kvm' ><vcpu >4</vcpu ><devices ></devices >"
                "</domain >",
    }
    for name, text in texts.items():
        for options in ([], ['--quota', '9000'], ALL):
            if 'sandbox' in text and options is ALL:
                continue
            done = add(text, *options)
            assert done != text, name
            ElementTree.fromstring(done.encode())
            assert remove(done) == text, f'{name}: {options}\n{done}'
            assert add(done, *options) == done, f'{name}: not the same twice'


def test_line_ends_of_another_system_are_kept(_folder):
    text = PLAIN.replace('\n', '\r\n').encode()
    run = {'input': text, 'text': False}
    done = tool.run('xml', *ALL, **run).stdout
    assert b"core" in done and not re.search(rb'[^\r]\n', done), done
    run['input'] = done
    assert tool.run('xml', '--remove', **run).stdout == text


def test_white_space_around_what_is_added_is_imitated(_folder):
    text = add(PLAIN.replace('  ', '\t'), '--allow-affinity')
    assert '\n\t<qemu:capabilities' in text
    assert "\n\t\t<qemu:del capability='seccomp-sandbox'/>\n" in text
    assert '\n' not in add(re.sub(r'>\s+<', '><', PLAIN).strip(), *ALL)


def test_the_result_pleases_libvirts_schema(_folder):
    validate(PLAIN.replace(" id='7'", ''))
    for text in (PLAIN, with_args('-device', 'foo')):
        for options in ([], ALL):
            validate(add(text, *options))


def test_foreign_arguments_are_kept_in_their_order(_folder):
    text = with_args('-object', 'rng-random,id=r', '-device', 'foo,a=b,,c')
    done = add(text, '--placement', 'cpu')
    assert values(done) == ['-object', 'rng-random,id=r', '-device',
                            'foo,a=b,,c', '-object',
                            'llcsched,id=llcsched0,placement=cpu']
    assert done.count('<qemu:commandline>') == 1
    assert done.count('xmlns') == 1


def test_the_domains_own_prefix_is_used(_folder):
    text = with_args('-device', 'foo').replace('qemu:', 'q:').replace(
        ':qemu=', ':q=')
    done = add(text, *ALL)
    assert '<qemu:' not in done and done.count('<q:') == 11, done
    assert 'xmlns:qemu' not in done
    default = PLAIN.replace('</domain>', f'<commandline xmlns='
                            f'"{QEMU_NAMESPACE}"><arg value="-S"/>'
                            '</commandline></domain>')
    assert values(add(default)) == ['-S', '-object', 'llcsched,id=llcsched0']


def test_a_second_call_replaces_the_first(_folder):
    first = add(PLAIN, *ALL)
    assert add(first, '--placement', 'cpu') == add(PLAIN, '--placement', 'cpu')
    assert add(first) == add(PLAIN)


def test_what_libvirt_makes_of_the_result_can_be_removed(_folder):
    """It moves the namespace to the root and its own elements to the end."""
    done = with_args('-object', 'llcsched,id=llcsched0,placement=core',
                     '-sandbox', SANDBOX)
    done = done.replace('</domain>', '  <qemu:capabilities>\n    '
                        "<qemu:del capability='seccomp-sandbox'/>\n"
                        '  </qemu:capabilities>\n</domain>')
    assert remove(done) == PLAIN.replace(
        '<domain ', f"<domain xmlns:qemu='{QEMU_NAMESPACE}' ")


def test_removing_what_is_not_there_changes_nothing(_folder):
    assert remove(PLAIN) == PLAIN
    assert remove(with_args('-sandbox', 'off')) == with_args('-sandbox', 'off')


def test_ids_decide_whose_object_it_is(_folder):
    for value in ('llcsched,id=mine,placement=off', 'id=mine,qom-type=llcsched',
                  '{&quot;qom-type&quot;:&quot;llcsched&quot;,'
                  '&quot;id&quot;: &quot;mine&quot;}'):
        text = with_args('-object', value)
        refused(["'mine'", '--id', 'did not add'], text)
        refused(["'mine'", '--id', "'llcsched0'"], text, '--remove')
        assert values(add(text, '--id', 'mine')) == \
            ['-object', 'llcsched,id=mine']
        assert values(remove(text, '--id', 'mine')) == []
    text = add(PLAIN, '--id', 'a.b_c-d', '--quota', '5000')
    assert 'id=a.b_c-d-limit,' in text
    assert remove(text, '--id', 'a.b_c-d') == PLAIN


def test_a_values_own_commas_do_not_hide_an_object(_folder):
    other = with_args('-object', 'secret,id=s,data=a,,id=llcsched,,b')
    assert values(add(other))[:2] == \
        ['-object', 'secret,id=s,data=a,,id=llcsched,,b']
    deep = with_args('-object', '{' + '[' * 100000)
    assert len(values(add(deep))) == 4


def test_groups_of_other_hands_are_kept_and_come_second(_folder):
    group = 'llcsched-group,id=tenant,quota-us=5000'
    text = with_args('-object', 'llcsched,id=llcsched0', '-object', group)
    assert values(add(text, '--placement', 'core')) == [
        '-object', 'llcsched,id=llcsched0,placement=core', '-object', group]
    refused(["'tenant'", '--vcpus'], text, '--quota', '5000')
    done = add(text, '--quota', '5000', '--vcpus', '0', '--parent', 'tenant')
    assert values(done)[4:] == ['-object', 'llcsched-group,id=llcsched0-limit,'
                                'quota-us=5000,vcpus=0,parent=tenant']
    refused(["'tenant'", 'by hand'], text, '--remove')


def test_a_sandbox_of_other_hands_is_not_fought(_folder):
    refused(['--allow-affinity', 'resourcecontrol=deny'], with_args(*DENY),
            '--allow-affinity')
    capability = ("  <qemu:capabilities>\n    <qemu:del capability="
                  "'seccomp-sandbox'/>\n  </qemu:capabilities>\n</domain>")
    for own in ([], ['-sandbox', 'on']):
        text = with_args('-S', *own).replace('</domain>', capability)
        done = add(text, '--allow-affinity')
        assert values(done) == ['-S', *own, '-object', 'llcsched,id=llcsched0']
        assert done.count('qemu:del') == 1
        assert remove(done) == text
    assert add(with_args(*DENY)).count('resourcecontrol=deny') == 1


def test_an_emulator_that_was_changed_since_is_kept(_folder):
    done = add(PLAIN, '--emulator', '/opt/qemu')
    changed = done.replace('>/opt/qemu<', '>/opt/other<')
    assert remove(changed) == PLAIN.replace('/usr/bin/qemu-system-x86_64',
                                            '/opt/other')
    twice = add(done, '--emulator', '/opt/third')
    assert '>/opt/third<' in twice
    assert remove(twice) == PLAIN


def test_a_record_that_was_damaged_or_copied_does_no_harm(_folder):
    done = add(PLAIN, '--emulator', '/opt/qemu')
    bad = re.sub("before='[^']*'", "before='&lt;a>'", done)
    refused(['<metadata>', 'emulator'], bad, '--remove')
    refused([''], bad, '--emulator', '/x')
    record = re.search(r' *<metadata>.*</metadata>\n', done, re.S).group(0)
    assert remove(done.replace(record, record + record)) == PLAIN


def test_what_is_empty_is_not_left_behind(_folder):
    for name in ('qemu:commandline', 'qemu:capabilities', 'metadata'):
        text = PLAIN.replace('<domain ', f"<domain xmlns:qemu='{QEMU_NAMESPACE}"
                             "' ").replace('  <os>', f'  <{name}/>\n  <os>')
        done = add(text, *ALL)
        assert add(done, *ALL) == done, name
        assert remove(done) == text.replace(f'  <{name}/>\n', ''), name
        kept = text.replace(f'{name}/', f'{name} a="b"/')
        assert f'<{name} a="b">' in remove(add(kept, *ALL)), name


def test_bad_input_is_refused_in_one_sentence(_folder):
    entity = '<!DOCTYPE d [<!ENTITY a "{}">]>'
    for words, text in (
            (['empty'], ''),
            (['not XML', 'line 1'], 'virsh: error\n'),
            (['not XML', 'line 3'], '<domain type="kvm">\n<a>\n</b></domain>'),
            (['not XML'], PLAIN[:300]),
            (['<network>'], '<network/>'),
            (['<domainsnapshot>'], f'<domainsnapshot>{PLAIN}</domainsnapshot>'),
            (['namespace'], '<domain type="kvm" xmlns="x"/>'),
            (['no type'], '<domain><name>a</name></domain>'),
            (["'xen'"], '<domain type="xen"/>'),
            (["'lxc'"], '<domain type="lxc"/>'),
            (['one domain at a time'], PLAIN + PLAIN),
            (['DOCTYPE'], '<!DOCTYPE domain>' + PLAIN),
            (['DOCTYPE'], entity.format('&b;' * 1000) + PLAIN),
            (['DOCTYPE'], '<!DOCTYPE d SYSTEM "/etc/passwd">' + PLAIN),
            (["'a'"], PLAIN.replace('vm ', '&a;')),
            (['qemu'], PLAIN.replace('<os>', '<os><qemu:arg/>')),
            (['ISO-8859-1'], '<?xml version="1.0" encoding="ISO-8859-1"?>' +
             PLAIN),
            (['nested'], '<domain type="kvm">' + '<a>' * 100000),
            (['4 MiB'], PLAIN + ' ' * (4 << 20))):
        refused(words, text)
        refused(words, text, '--remove')
        refused(words, text, '--advise')
    for raw in (PLAIN.encode('utf-16'), PLAIN.encode() + b'\xff', b'\0'):
        done = tool.run('xml', input=raw, text=False)
        assert done.returncode == 1 and not done.stdout, done
        assert b'UTF-8' in done.stderr and done.stderr.count(b'\n') == 1, done


def test_an_entity_bomb_costs_nothing(_folder):
    names = 'abcdefghij'
    bomb = '<!DOCTYPE domain [\n<!ENTITY a "lol">\n' + ''.join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">\n'
        for before, name in zip(names, names[1:])) + ']>\n'
    start = os.times()
    refused(['DOCTYPE'], bomb + PLAIN.replace('vm ', '&j;'))
    used = os.times()
    assert used.children_user - start.children_user < 5


def test_a_hundred_megabytes_are_not_read(_folder):
    reader, writer = os.pipe()
    child = subprocess.Popen([tool.path, 'xml'], stdin=reader,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(reader)
    sent = 0
    try:
        while sent < 100 << 20:
            sent += os.write(writer, b' ' * (1 << 16))
    except BrokenPipeError:
        pass
    os.close(writer)
    out, err = child.communicate(timeout=60)
    assert child.returncode == 1 and not out and b'4 MiB' in err, err
    assert sent < 8 << 20, f'{sent} bytes were read'


def test_bad_values_are_refused(_folder):
    for option, value, words in (
            ('--placement', 'node', ['off, llc, core, cpu']),
            ('--placement', '', ['off, llc, core, cpu']),
            ('--dynamic', 'yes', ['on, off']),
            ('--interval', '99', ['100 to 60000']),
            ('--interval', '60001', ['100 to 60000']),
            ('--cpus', '', ['0-3,8']),
            ('--cpus', '8192', ['0-3,8']),
            ('--guard-util', '0', ['1 to 100']),
            ('--guard-tasks', '101', ['1 to 100']),
            ('--prefer', 'speed', ['auto, cache, capacity']),
            ('--quota', '1.5', ['microseconds']),
            ('--quota', '99', ['quota-us', '100 ']),
            ('--period', '999', ['period-us', '1000 ']),
            ('--burst', '5', ['burst-us', 'needs a quota']),
            ('--vcpus', '4096', ['0-3,8']),
            ('--trust', 'no', ['strict, best-effort']),
            ('--trust-backend', 'x', ['auto, kernel']),
            ('--emulator-threads', 'on', ['off, near, other']),
            ('--parent', '0a', ["'0a'"]),
            ('--id', 'a,b', ["'a,b'"]),
            ('--id', '', ["''"]),
            ('--emulator', 'qemu', ["'qemu'"]),
            ('--emulator', '/a\tb', ['--emulator']),
            ('--emulator', '', ["''"]),
            ('--domain', '', ["''"]),
            ('--connect', 'x', ['--domain']),
            ('--host', '/x', ['--advise'])):
        refused([option, *words], PLAIN, option, value, status=2)
    for cookie in ('', 'secret' * 11, 'secret\t'):
        done = tool.run('xml', '--cookie', cookie, input=PLAIN)
        assert done.returncode == 2 and not done.stdout
        assert '1 to 64 printable' in done.stderr
        assert 'secret' not in done.stderr
    refused(['vCPU 8', '0 to 7'], PLAIN, '--vcpus', '7-8')
    refused(["'x'", '4096'], PLAIN.replace('>8</vcpu', '>x</vcpu'), '--quota',
            '5000')
    refused(['no devices'], '<domain type="kvm"/>', '--emulator', '/a')
    refused(['empty <emulator/>'], PLAIN.replace(
        '>/usr/bin/qemu-system-x86_64</emulator>', '/>'), '--emulator', '/a')
    for mode in ('--remove', '--advise'):
        for option in (['--placement', 'core'], ['--allow-affinity'],
                       ['--emulator', '/a'], ['--quota', '500']):
            refused([option[0], mode], PLAIN, mode, *option, status=2)
    refused(['--remove', '--advise'], PLAIN, '--remove', '--advise', status=2)


def schema(kind, name):
    """The data of a definition in qapi/llcsched.json."""
    with open(os.path.join(source, 'qapi/llcsched.json'),
              encoding='ascii') as text:
        return re.search(r"'%s': '%s',\s+'data': [{[](.*?)[]}],?\s+'if'" %
                         (kind, name), text.read(), re.S).group(1)


def members(struct):
    """Names and types, but for those that are for tests."""
    return {name: kind for name, kind in
            re.findall(r"'\*([a-z-]+)': *(.*)", schema('struct', struct))
            if not name.startswith('x-')}


def words_of(kind):
    """What an option of a type takes if that is words, else None."""
    found = re.match(r"'(\w+)'", kind)
    if not found or found.group(1)[0].islower():
        return {'on', 'off'} if kind.startswith("'bool'") else None
    return set(re.findall(r"'([a-z-]+)'", schema('enum', found.group(1))))


def test_every_property_of_the_objects_is_an_option(_folder):
    text = tool.ok('xml', '--help')
    properties = members('LlcschedProperties') | \
        members('LlcschedGroupProperties')
    assert len(properties) >= 12, properties
    for name, kind in properties.items():
        # The name of that one is taken by what libvirt calls so.
        option = '--' + {'emulator': 'emulator-threads'}.get(
            name, name.removesuffix('-us'))
        assert re.search(rf'^  {option}=', text, re.M), option
        if words_of(kind):
            done = tool.run('xml', option, '', input=PLAIN)
            words = done.stderr.rpartition(' one of ')[2].strip().split(', ')
            assert set(words) == words_of(kind), f'{option}: {done.stderr}'


def test_qemu_accepts_what_is_written(_folder):
    at = ALL.index('--cpus')
    done = add(PLAIN, *ALL[:at], *ALL[at + 2:])
    run = subprocess.run([our_qemu(), '-M', 'q35', '-smp', '8,sockets=8',
                          '-accel', 'tcg,thread=multi', '-S', '-display',
                          'none', '-monitor', 'stdio', *values(done)],
                         input='info llcsched\nquit\n', text=True,
                         capture_output=True, check=False, timeout=120)
    assert run.returncode == 0, run
    assert 'group llcsched0-limit: vCPU 0-1,3, 5000/20000 us' in run.stdout, run


def fake_virsh(folder, script):
    path = os.path.join(folder, 'virsh')
    write(folder, 'virsh', '#!/bin/sh\n' + script)
    os.chmod(path, stat.S_IRWXU)
    return {'env': {**os.environ, 'PATH': f"{folder}:{os.environ['PATH']}"}}


def test_domain_is_read_by_virsh(folder):
    write(folder, 'domain.xml', PLAIN)
    run = fake_virsh(folder, f'echo "$@" > {folder}/words\n'
                     f'cat {folder}/domain.xml\n')
    assert tool.ok('xml', '--domain', 'my vm', **run) == add(PLAIN)
    with open(os.path.join(folder, 'words'), encoding='ascii') as words:
        assert words.read() == ('--quiet dumpxml --inactive --security-info '
                                '--domain=my vm\n')
    assert tool.ok('xml', '--domain=-x', '-c', 'qemu:///system', '--remove',
                   **run) == PLAIN
    with open(os.path.join(folder, 'words'), encoding='ascii') as words:
        assert words.read().startswith('--connect=qemu:///system dumpxml')


def test_virsh_that_fails_or_floods_is_told(folder):
    run = fake_virsh(folder, 'exit 1\n')
    tool.fails(1, ["'vm'", 'virsh'], 'xml', '--domain', 'vm', **run)
    run = fake_virsh(folder, 'exec yes\n')
    tool.fails(1, ['4 MiB'], 'xml', '--domain', 'vm', **run)
    os.remove(os.path.join(folder, 'virsh'))
    run['env']['PATH'] = folder
    tool.fails(1, ['--domain needs virsh'], 'xml', '--domain', 'vm', **run)


def advice(host, text=PLAIN):
    return tool.ok('xml', '--advise', '--host',
                   os.path.join(hosts, host + '.host'), input=text)


def domain_of(vcpus, *lines, memory=8):
    return (PLAIN.replace('>8</vcpu>', f'>{vcpus}</vcpu>')
            .replace("'GiB'>8<", f"'GiB'>{memory}<")
            .replace('  <os>', ''.join(lines) + '  <os>', 1))


ONE_GROUP = "<cpu><topology sockets='1' cores='%d' threads='1'/></cpu>"


def topology(text):
    found = re.search(r"<topology sockets='(\d+)'(?: dies='(\d+)')? "
                      r"cores='(\d+)' threads='(\d+)'/>", text)
    return tuple(int(number or 1) for number in found.groups())


def test_advice_fits_a_group_into_an_llc(_folder):
    text = advice('ryzen-5900x', domain_of(12))
    assert topology(text) == (1, 1, 6, 2), text
    assert "<cache level='3' mode='emulate'/>" in text
    assert 'as advised: 12 vCPUs on 1 LLC: matched' in text
    assert 'no <numatune>' in text
    text = advice('ryzen-5900x', domain_of(16))
    assert topology(text) == (1, 2, 4, 2), text
    assert 'as advised: 16 vCPUs on 2 LLCs: matched' in text


def test_advice_on_the_number_of_vcpus(_folder):
    # 22 are 11 cores, which 6 + 6 cannot take in equal parts.
    text = advice('ryzen-5900x', domain_of(22))
    assert '<vcpu>24</vcpu>\n  not 22' in text
    assert '<vcpu>10</vcpu>\n  not 9' in advice('ryzen-5900x', domain_of(9))
    assert '<vcpu>24</vcpu>\n  not 99' in advice('ryzen-5900x', domain_of(99))
    assert '<vcpu>1</vcpu>\n  as it is' in advice('ryzen-5900x', domain_of(1))


def test_advice_says_what_is_right_already(_folder):
    good = domain_of(16, "  <numatune>\n<memory mode='strict' nodeset='0'/>\n"
                     "</numatune>\n<cpu><topology sockets='1' dies='1' "
                     "cores='8' threads='2'/><cache level='3' mode='emulate'/>"
                     "</cpu>\n")
    text = advice('epyc-7763-2s', good)
    node = re.search(r"nodeset='(\d)'", text).group(1)
    text = advice('epyc-7763-2s', good.replace("nodeset='0'",
                                               f"nodeset='{node}'"))
    assert text.count('as it is') == 4, text


def test_advice_takes_nodes_when_one_is_too_small(_folder):
    text = advice('epyc-7763-2s', domain_of(160))
    assert topology(text) == (2, 5, 8, 2), text
    assert "<cell id='1' cpus='80-159' memory='4194304' unit='KiB'/>" in text
    assert "<memnode cellid='1' mode='strict' nodeset='1'/>" in text


def test_advice_binds_no_memory_that_a_node_lacks(_folder):
    text = advice('epyc-7763-2s', domain_of(16, memory=900000))
    assert 'no <numatune>' in text, text


def test_advice_spreads_domains_over_nodes(_folder):
    nodes = set()
    for number in range(16):
        text = advice('epyc-7763-2s', domain_of(8, ONE_GROUP % 8).replace(
            '000000000001<', f'{number:012x}<'))
        nodes.add(re.search(r"<memory mode='strict' nodeset='(\d)'",
                            text).group(1))
    assert nodes == {'0', '1'}


def test_advice_for_other_machines_has_no_dies(_folder):
    text = advice('kunpeng-920-2s', domain_of(64).replace('x86_64', 'aarch64'))
    assert ' dies=' not in text and '<cache' not in text, text


def test_advice_on_pinned_vcpus(_folder):
    text = advice('ryzen-5900x', domain_of(
        12, "<cputune><vcpupin vcpu='0' cpuset='0'/></cputune>"))
    assert 'no <vcpupin>' in text


def test_advice_for_every_host_and_size_is_what_it_says(_folder):
    """Of its own shape the advice is that it is right, and the plan fits."""
    for name in sorted(os.listdir(hosts)):
        if not name.endswith('.host'):
            continue
        for vcpus in (1, 2, 3, 8, 24, 96):
            text = advice(name[:-5], domain_of(vcpus, ONE_GROUP % vcpus))
            sockets, dies, cores, threads = topology(text)
            count = int(re.search(r'<vcpu>(\d+)<', text).group(1))
            assert sockets * dies * cores * threads == count, text
            assert re.search(r'as advised: .*: (matched|single)\n', text), \
                f'{name} {vcpus}: {text}'
            again = advice(name[:-5], domain_of(
                count, f"<cpu><topology sockets='{sockets}' dies='{dies}' "
                f"cores='{cores}' threads='{threads}'/></cpu>\n"))
            assert again.count('as it is') >= 2, f'{name} {vcpus}: {again}'


def test_advice_on_this_host_and_on_a_tree(folder):
    assert tool.ok('xml', '--advise', input=PLAIN).startswith('now: ')
    make_tree(folder)
    text = tool.ok('xml', '--advise', '--root', folder, input=domain_of(8))
    assert topology(text) == (1, 2, 2, 2), text


def test_advice_on_nonsense(_folder):
    refused(['<topology>', 'go together'], domain_of(
        8, "<cpu><topology sockets='3' cores='1' threads='1'/></cpu>\n"),
        '--advise')
    refused(["'-1'"], domain_of(-1), '--advise')


def hook(*words, folder, **environment):
    """Run KubeVirt's hook as its sidecar-shim does."""
    path = f'{os.path.dirname(os.path.abspath(tool.path))}:{os.environ["PATH"]}'
    return subprocess.run(
        [os.path.join(contrib, 'kubevirt/onDefineDomain'), *words], text=True,
        capture_output=True, check=False, timeout=60, cwd=folder,
        stdin=subprocess.DEVNULL, env={'PATH': path, **environment})


def vmi(**annotations):
    return json.dumps({'metadata': {'annotations': {
        'llcsched/' + name: value for name, value in annotations.items()}}})


def test_kubevirt_hook_changes_the_domain(folder):
    need('jq')
    words = ['--placement', 'core', '--quota', '5000']
    for options, want in (({}, []), ({'options': '  '.join(words)}, words)):
        done = hook('--vmi', vmi(**options), '--domain', PLAIN, folder=folder)
        assert done.returncode == 0, done
        assert done.stdout == add(PLAIN, *want)
    done = hook('--domain', PLAIN, '--vmi', vmi(options='--quota 5000'),
                folder=folder, LLCSCHED_XML_OPTIONS='--placement cpu')
    assert done.stdout == add(PLAIN, '--placement', 'cpu', '--quota', '5000')


def test_kubevirt_hook_fails_rather_than_give_half_a_domain(folder):
    need('jq')
    for words in (['--vmi', '{}', '--domain', ''], ['--vmi', '{}'], [],
                  ['--vmi', vmi(options='--quota 1'), '--domain', PLAIN],
                  ['--vmi', vmi(options='$(touch x) `touch x` ; touch x'),
                   '--domain', PLAIN],
                  ['--vmi', vmi(options='*'), '--domain', PLAIN],
                  ['--vmi', '{', '--domain', PLAIN]):
        done = hook(*words, folder=folder)
        assert done.returncode != 0 and not done.stdout, f'{words}: {done}'
        assert done.stderr, words
    assert not os.listdir(folder)


def our_qemu():
    path = os.environ.get('LLCSCHED_QEMU') or \
        os.path.join(source, 'build/bin/qemu-system-x86_64')
    if not os.access(path, os.X_OK):
        raise Skip(f'no QEMU at {path}')
    return path


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f'no {program} here')


def kubevirt(name):
    with open(os.path.join(contrib, 'kubevirt', name),
              encoding='ascii') as text:
        return text.read()


def test_kubevirt_example_is_accepted_by_its_own_hook(folder):
    need('jq')
    text = kubevirt('vm.yaml')
    sidecars = re.search(r"hookSidecars: '(.*)'", text).group(1)
    assert json.loads(sidecars)[0]['args'] == ['--version', 'v1alpha3']
    options = re.search(r'llcsched/options: (.*)', text).group(1)
    always = re.search('LLCSCHED_XML_OPTIONS="(.*)"',
                       kubevirt('Containerfile')).group(1)
    done = hook('--vmi', vmi(options=options), '--domain', PLAIN,
                folder=folder, LLCSCHED_XML_OPTIONS=always)
    assert done.stdout == add(PLAIN, *always.split(), *options.split()), done


def test_kubevirt_containerfile_names_what_is_there(_folder):
    text = kubevirt('Containerfile').replace('\\\n', '')
    for path in re.findall(r'^COPY (?!--from)(\S+)', text, re.M) + \
            re.findall(r'/src/(contrib/\S+)', text):
        assert os.path.exists(os.path.join(source, path)), path
    for command in re.findall(r'^RUN ([^[].*)', text, re.M):
        assert subprocess.run(['sh', '-n', '-c', command],
                              check=False).returncode == 0, command
    stages = re.findall(r'^FROM .* AS (\w+)$', text, re.M)
    assert stages == ['build', 'sidecar', 'launcher']
    path = re.search('--emulator (/opt/llcsched/bin/[^" ]+)', text).group(1)
    assert f'RUN ["{path}"' in text


def test_kubevirt_bundle_runs_where_nothing_else_is(folder):
    """In a root that has the bundle alone: no libraries, no firmware."""
    need('patchelf', 'jq', 'unshare', 'chroot')
    bundle = os.path.join(folder, 'opt')
    programs = ['jq', tool.path]
    try:
        programs.append(our_qemu())
    except Skip:
        pass
    subprocess.run([os.path.join(contrib, 'kubevirt/bundle'), bundle,
                    *programs], check=True, timeout=120)
    root = os.path.join(folder, 'root')
    inside = os.path.join(root, folder[1:])
    os.makedirs(inside)
    os.rename(bundle, os.path.join(inside, 'opt'))

    def run(program, *words, **kwargs):
        done = subprocess.run(
            ['unshare', '--user', '--map-root-user', 'chroot', root,
             os.path.join(bundle, 'bin', os.path.basename(program)), *words],
            capture_output=True, text=True, check=False, timeout=120, **kwargs)
        if done.stderr.startswith('unshare:'):
            raise Skip(done.stderr.strip())
        assert done.returncode == 0, done
        return done.stdout

    assert run('jq', '-n', '1') == '1\n'
    assert run(tool.path, 'xml', input=PLAIN) == add(PLAIN)
    for program in programs[2:]:
        assert 'placement=' in run(program, '-object', 'llcsched,help')
        run(program, '-M', 'q35', '-accel', 'tcg,thread=multi', '-S',
            '-display', 'none', '-monitor', 'stdio', input='quit\n')


def editor(folder, text, *words, **environment):
    """Run the editor on a file as virsh edit does. The file's new text."""
    path = os.path.join(folder, 'virsh.xml')
    with open(path, 'w', encoding='utf-8') as out:
        out.write(text)
    before = os.stat(path)
    done = subprocess.run(
        [os.path.join(contrib, 'libvirt/qemu-llcsched-edit'), *words, path],
        capture_output=True, text=True, check=False, timeout=60,
        stdin=subprocess.DEVNULL,
        env={'PATH': os.path.dirname(os.path.abspath(tool.path)) + ':' +
             os.environ['PATH'], **environment})
    assert os.stat(path).st_mode == before.st_mode
    with open(path, encoding='utf-8') as new:
        return done, new.read()


def test_editor_changes_the_file(folder):
    done, text = editor(folder, PLAIN, '--placement', 'core')
    assert done.returncode == 0 and text == add(PLAIN, '--placement', 'core')
    done, text = editor(folder, text, '--remove')
    assert done.returncode == 0 and text == PLAIN


def test_editor_that_fails_leaves_the_file(folder):
    done, text = editor(folder, PLAIN, '--placement', 'x')
    assert done.returncode == 2 and text == PLAIN and done.stderr
    done, text = editor(folder, 'x')
    assert done.returncode == 1 and text == 'x'
    assert os.listdir(folder) == ['virsh.xml']


def our_programs(folder):
    """Copies that whoever libvirtd runs as may run. The folder, and QEMU."""
    path = our_qemu()
    programs = os.path.join(folder, 'bin')
    os.mkdir(programs)
    for program in (path, tool.path,
                    os.path.join(contrib, 'libvirt/qemu-llcsched-edit'),
                    os.path.join(contrib, 'libvirt/qemu-llcsched-define')):
        os.chmod(shutil.copy(program, programs), 0o755)
    return programs, os.path.join(programs, os.path.basename(path))


def defined(daemon):
    return daemon.virsh('dumpxml', '--inactive', 'vm').stdout


def test_libvirt_defines_the_result(folder):
    """Adding, then removing, by way of libvirt, gives what it had before."""
    programs, emulator = our_programs(folder)
    write(folder, 'vm.xml',
          PLAIN.replace("'kvm' id='7'", "'qemu'").replace('vm &amp; more', 'vm')
          .replace('/usr/bin/qemu-system-x86_64', emulator))
    with libvirt(folder, programs) as daemon:
        daemon.virsh('define', os.path.join(folder, 'vm.xml'))
        first = defined(daemon)
        for options in ([], ALL[:-2], ['--emulator', emulator]):
            daemon.run('qemu-llcsched-define', 'vm', *options)
            second = defined(daemon)
            assert values(second) == values(add(first, *options))
            command = daemon.virsh('domxml-to-native', 'qemu-argv',
                                   '--domain', 'vm').stdout
            assert 'llcsched,id=llcsched0' in command, command
            assert ('resourcecontrol=deny' not in command) == \
                ('--allow-affinity' in options), command
            daemon.run('qemu-llcsched-define', 'vm', '--remove')
            assert defined(daemon) == first, options
        done = daemon.run('qemu-llcsched', 'xml', '--domain', 'vm')
        assert done.stdout.strip() == add(first).strip()
        daemon.environment['EDITOR'] = 'qemu-llcsched-edit --placement core'
        daemon.virsh('edit', 'vm')
        assert values(defined(daemon)) == \
            ['-object', 'llcsched,id=llcsched0,placement=core']
        daemon.virsh('undefine', 'vm')


def test_libvirts_own_domains_go_round(_folder):
    top = os.environ.get('LLCSCHED_LIBVIRT_XML')
    if not top:
        raise Skip('LLCSCHED_LIBVIRT_XML names no folder')
    count, start = 0, time.monotonic()
    for folder, _, names in os.walk(top):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, 'rb') as domain:
                text = domain.read()
            if not name.endswith('.xml') or b'<domain' not in text:
                continue
            done = tool.run('xml', *ALL[:-2], input=text, text=False)
            if done.returncode:
                assert done.stderr.count(b'\n') == 1, path
                continue
            back = tool.run('xml', '--remove', input=done.stdout, text=False)
            assert back.stdout == text, path
            count += 1
    assert count, f'no domain below {top}'
    print(f'# {count} domains, {time.monotonic() - start:.0f} s')


def main():
    run_tests([(f'/xml/{name[5:].replace("_", "-")}', test)
               for name, test in globals().items()
               if name.startswith('test_')])


main()
