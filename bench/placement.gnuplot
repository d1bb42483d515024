# SPDX-License-Identifier: GPL-2.0-or-later
#
# gnuplot -e "rows='placement.csv'; image='placement.svg'" placement.gnuplot
# The 99th percentile and the work done, each policy against each case.

set terminal svg size 1500,1100 noenhanced font "sans,10"
set output image
set datafile separator ","
policies = "blind cache-aware pins first-fit nearest llcsched"
only(p, column) = "< awk -F, 'NR > 1 && $2 == \"" . p . "\" { print $1 \",\" " . column . " }' " . rows
set multiplot layout 2,1
set xtics rotate by -60
set key outside
set grid ytics
set style data linespoints
set logscale y
set ylabel "p99 of wake-up to run, us (bars: standard deviation)"
plot for [i = 1:words(policies)] only(word(policies, i), "($4 > 0.1 ? $4 : 0.1) \",\" $12") using 2:xtic(1) title word(policies, i)
unset logscale y
set ylabel "work, ms of a CPU per s"
set logscale y
plot for [i = 1:words(policies)] only(word(policies, i), "$5 \",\" $13") using 2:xtic(1) title word(policies, i)
unset multiplot
