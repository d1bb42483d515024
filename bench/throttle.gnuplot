# SPDX-License-Identifier: GPL-2.0-or-later
#
# The values of bench-throttle as a picture; scripts/bench says from what file
# ("samples") to which ("image").  Each box holds the middle half of a side's
# values, its line the median, its whiskers 1.5 times as much.

set terminal svg size 1200,900 background "white" font "sans,11"
set output image
set datafile separator comma
set style data boxplot
set style fill solid 0.4 border
set style boxplot outliers pointtype 6
set boxwidth 0.6
set xtics rotate by -20 noenhanced font ",9"
set grid ytics
set key off

# The values of a metric of a row, and whether there are any.
of(row, metric) = sprintf("< awk -F, '$1 == \"%s\" && $4 ~ /^%s/' '%s'", row, metric, samples)
has(row, metric) = int(system(sprintf("awk -F, '$1 == \"%s\" && $4 ~ /^%s/ { n++ } END { print n + 0 }' '%s'", row, metric, samples)))

set multiplot layout 2,3 title "CPU quota: the kernel's and llcsched's"

set title "Share: error over a run, %"
if (has("share", "run")) { plot of("share", "run") using (1):6:(0):2 } else { set multiplot next }

unset multiplot
