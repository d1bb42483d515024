# SPDX-License-Identifier: GPL-2.0-or-later
#
# The sides of one row of bench-throttle's values, as gnuplot's candlesticks:
# number, name, least, first quartile, median, third quartile, most.
#
#   awk -F, -v row=ROW -v metric=REGEXP -f throttle-boxes.awk CSV

$1 == row && $4 ~ metric {
    if (!($2 in n)) sides[++n_sides] = $2
    values[$2, ++n[$2]] = $6 + 0
}

# Between two values by linear interpolation, as stats.c does it.
function quantile(side, part,   rank, below) {
    rank = 1 + part * (n[side] - 1)
    below = int(rank)
    if (below == n[side]) return values[side, below]
    return values[side, below] + (rank - below) * (values[side, below + 1] - values[side, below])
}

function sort(side,   i, j, value) {
    for (i = 2; i <= n[side]; i++) {
        value = values[side, i]
        for (j = i - 1; j && values[side, j] > value; j--)
            values[side, j + 1] = values[side, j]
        values[side, j + 1] = value
    }
}

END {
    for (i = 1; i <= n_sides; i++) {
        side = sides[i]
        sort(side)
        printf "%d,%s", i, side
        for (k = 0; k <= 4; k++) printf ",%g", quantile(side, k / 4)
        print ""
    }
}
