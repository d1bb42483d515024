# SPDX-License-Identifier: GPL-2.0-or-later
#
# The values of bench-throttle as a picture; scripts/bench says from what file
# ("samples") to which ("image"), and where throttle-boxes.awk is ("here").  A
# box holds the middle half of a side's values, the thick line in it is the
# median, the whiskers end at the least and the most.

set terminal svg size 1300,1000 background "white" font "sans,11"
set output image
set datafile separator comma
set style fill solid 0.4 border
set boxwidth 0.6
set xtics rotate by -25 noenhanced font ",9"
set grid ytics
set key off
set offsets 0.5, 0.5, 0, 0

array row[9] = ["share", "beside", "stall", "hop", "lag", "burst", "depth", "depth-hop", "linux"]
array metric[9] = ["^run ", "^run ", "^longest$", "^hand-offs$", "^p99.9$", "^p99$", "^work$", "^hand-offs$", "^exchanges$"]
array what[9] = ["Error of the share over a run, %, all points", \
    "The same beside others", "Longest stall of two vCPUs at 50 %, ms", \
    "Hand-offs a second at 50 %", "p99.9 of a hand-off and back, us", \
    "p99 of a 5 ms job at a quota of 1.2 of 10 ms, ms", "Work a second by depth", \
    "Hand-offs a second by depth", "Linux: exchanges a second by depth"]

sides(i) = sprintf("awk -F, -v row='%s' -v metric='%s' -f '%s/throttle-boxes.awk' '%s'", row[i], metric[i], here, samples)
count(i) = int(system(sides(i) . " | wc -l"))

set multiplot layout 3,3 title "CPU quota: the kernel's and llcsched's, on the same vCPUs"
do for [i = 1:9] {
    set title what[i]
    # an error may be below 0; a rate is seen against it
    if (i <= 2) { set yrange [*:*] } else { set yrange [0:*] }
    if (row[i] eq "stall" || row[i] eq "lag") { set yrange [*:*]; set logscale y } else { unset logscale y }
    if (count(i) > 0) {
        plot "< " . sides(i) using 1:4:3:7:6:xtic(2) with candlesticks whiskerbars 0.5 linecolor "#3465a4", \
             "" using 1:5:5:5:5 with candlesticks linecolor "black" linewidth 3
    } else {
        set multiplot next
    }
}
unset multiplot
