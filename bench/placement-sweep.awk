# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guard's thresholds: what llcsched lost against LLC-blind Linux at worst.
# Reads files called sweep,CPUS,UTIL,TASKS,CASE; UTIL 0 is LLC-blind.

BEGIN { FS = ","; print "llc_cpus,guard_util,guard_tasks,p99_change,throughput_change,moves,safe" }
FNR == 1 {
    for (i = 1; i <= NF; i++) column[$i] = i
    name = FILENAME
    sub(/.*\//, "", name)
    split(name, key, ",")
    next
}
{
    p99 = $(column["p99_us"]); work = $(column["throughput"])
    if (key[3] == 0) { base_p99[key[2], key[5]] = p99; base_work[key[2], key[5]] = work; next }
    at = key[2] "," key[3] "," key[4]
    late[at, key[5]] = p99; done[at, key[5]] = work; moves[at] += $(column["moves"])
    cases[key[5]] = 1
    llc[at] = key[2]
}
END {
    for (at in llc) {
        worst_late = worst_work = 0
        for (c in cases) {
            if (base_p99[llc[at], c] > 0) {
                change = 100 * (1 - late[at, c] / base_p99[llc[at], c])
                worst_late = change < worst_late ? change : worst_late
            }
            if (base_work[llc[at], c] > 0) {
                change = 100 * (done[at, c] / base_work[llc[at], c] - 1)
                worst_work = change < worst_work ? change : worst_work
            }
        }
        safe = (worst_late >= -2 && worst_work >= -2) ? "yes" : "no"
        printf "%s,%.1f,%.1f,%.1f,%s\n", at, worst_late, worst_work, moves[at], safe | "sort -t, -k1,1n -k2,2n -k3,3n"
    }
}
