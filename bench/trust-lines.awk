# SPDX-License-Identifier: GPL-2.0-or-later
#
# One metric of one side of bench-trust's values, by what the names of its rows
# say of load: x, least, median, most.
#
#   awk -F, -v prefix=ROW- -v side=NAME -v metric=NAME -f trust-lines.awk CSV

index($1, prefix) == 1 && $2 == side && $4 == metric {
    x = substr($1, length(prefix) + 1) + 0
    if (!(x in n)) xs[++n_xs] = x
    values[x, ++n[x]] = $6 + 0
}

function sort(x,   i, j, value) {
    for (i = 2; i <= n[x]; i++) {
        value = values[x, i]
        for (j = i - 1; j && values[x, j] > value; j--) values[x, j + 1] = values[x, j]
        values[x, j + 1] = value
    }
}

END {
    for (i = 1; i <= n_xs; i++) {
        x = xs[i]
        sort(x)
        low = int((n[x] + 1) / 2)
        high = int(n[x] / 2) + 1
        printf "%g,%g,%g,%g\n", x, values[x, 1], (values[x, low] + values[x, high]) / 2, values[x, n[x]]
    }
}
