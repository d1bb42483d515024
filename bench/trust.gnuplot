# SPDX-License-Identifier: GPL-2.0-or-later
#
# The values of bench-trust as a picture; scripts/bench says from what file
# ("samples") to which ("image"), and where trust-lines.awk is ("here").  Lines
# join medians, bars end at the least and the most.

set terminal svg size 1300,1000 background "white" font "sans,11"
set output image
set datafile separator comma
set grid ytics
set key top left font ",9"
set offsets graph 0.05, graph 0.05, graph 0.1, 0

array side[4] = ["smt-shared", "smt-off", "libvirt", "llcsched"]
array color[4] = ["#888a85", "#cc0000", "#73d216", "#3465a4"]
array metric[9] = ["work at 1.0", "work at 1.2", "work at 1.4", "break-even", "forced idle", "longest wait", "work at 1.2", "forced idle", "longest wait"]
array what[9] = ["Work, SMT off = 1, if two siblings do no more than one", \
    "Work, if they do 1.2 times as much", "Work, if they do 1.4 times as much", \
    "Yield from which SMT pays", "Siblings idle by force, % of core time", \
    "Longest wait of a vCPU, ms", "Bursts: work at 1.2, SMT off = 1", \
    "Bursts: siblings idle by force, % of core time", "Bursts: longest wait, ms"]

prefix(i) = i <= 6 ? "load-" : "bursts-"
values(i, s) = sprintf("awk -F, -v prefix='%s' -v side='%s' -v metric='%s' -f '%s/trust-lines.awk' '%s'", prefix(i), side[s], metric[i], here, samples)
count(i) = int(system(sprintf("grep -c '^%s.*,%s,' '%s' || true", prefix(i), metric[i], samples)))

set multiplot layout 3,3 title "Two tenants on the cores of a host: by load of the cores, and by load without cookie"
do for [i = 1:9] {
    set title what[i]
    set xlabel (i <= 6 ? "vCPUs that want to run, for each core" : "load without cookie, % of each thread")
    if (metric[i] eq "forced idle") { set yrange [0:*] } else { set yrange [*:*] }
    if (metric[i] eq "longest wait") { set logscale y } else { unset logscale y }
    if (count(i) > 0) {
        plot for [s = 1:4] "< " . values(i, s) using 1:3:2:4 with yerrorlines linecolor rgb color[s] linewidth 2 title side[s]
    } else {
        set multiplot next
    }
}
unset multiplot
