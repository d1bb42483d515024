# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What the scripts share: where things are, how to speak, how to fail.

set -euo pipefail

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LLCSCHED_BUILD:-$top/build}
# These scripts are for whoever types make, and their locale may be anything.
export LC_ALL=C.UTF-8

say() { printf '== %s\n' "$*"; }

# One sentence: what is wrong and what to do about it.
die() { printf 'llcsched: %s\n' "$*" >&2; exit 1; }

# need_disk DIR MIB WHAT
need_disk() {
    local free
    free=$(df -Pm "$1" | awk 'NR == 2 { print $4 }')
    [ "$free" -ge "$2" ] ||
        die "$3 needs $2 MiB below $1, $free MiB are free: make room, or set LLCSCHED_BUILD to a folder on a larger disk"
}

# logged NAME COMMAND...: run it with its output in build/log/NAME.log, show
# every hundredth step of a build, and the end of the log when it fails.
logged() {
    local name=$1 log=$build/log/$1.log
    shift
    mkdir -p "$build/log"
    if "$@" 2>&1 | tee "$log" |
        awk '/^\[[0-9]+\/[0-9]+\]/ && ++n % 100 == 0 { print "   " $1; fflush() }'; then
        return 0
    fi
    tail -n 30 "$log" >&2
    die "$name failed; the whole log is $log"
}

# debian_mirror: the address of the archive that this system itself uses.
debian_mirror() {
    # shellcheck disable=SC2016  # apt's own variables
    apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
        awk -F'|' '$1 == "Debian" && !seen++ { print $2 }'
}

# private_apt DIR LINE: set APT_CONFIG to an apt configuration below DIR that
# knows only the one source LINE and leaves the system's lists alone.
private_apt() {
    mkdir -p "$1/lists/partial" "$1/cache/archives/partial"
    printf '%s\n' "$2" > "$1/sources.list"
    cat > "$1/apt.conf" <<EOF
Dir::Etc::SourceList "$1/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$1/lists";
Dir::Cache "$1/cache";
APT::Sandbox::User "root";
EOF
    export APT_CONFIG=$1/apt.conf
    apt-get -qq update ||
        die "the package archive does not answer: check the network and 'apt-get update', then try again"
}
