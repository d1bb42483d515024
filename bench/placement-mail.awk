# SPDX-License-Identifier: GPL-2.0-or-later
#
# The rows of the kernel's mail that moved by more than 10 % beside the same
# simulated: awk -f placement-mail.awk placement.csv mail.csv
# The last two are held out and count for themselves: sign and order of magnitude.
# The status is 1 when fewer than 80 % of the others have the mail's sign.

BEGIN { FS = "," }
FNR == 1 { files++; for (i = 1; i <= NF; i++) column[$i] = i; next }
files == 1 { for (name in column) value[$1, $2, name] = $(column[name]); next }
FNR == 2 { print "host,case,column,mail_percent,simulated_percent,sign,held_out" }
{
    blind = value[$1 "/" $2, "blind", $3]
    aware = value[$1 "/" $2, "cache-wake", $3]
    if (blind == "" || aware == "") {
        print $1 "/" $2 ": not simulated" > "/dev/stderr"
        exit 1
    }
    change = blind > 0 ? 100 * (1 - aware / blind) : 0
    held = $2 == "schbench=239" && $3 != "p90_us"
    good = change * $4 > 0
    if (held) {
        # of the same order of magnitude
        good = good && change / $4 > 0.1 && change / $4 < 10
        held_good += good
    } else {
        n++
        right += good
    }
    printf "%s,%s,%s,%.2f,%.2f,%s,%s\n", $1, $2, $3, $4, change, good ? "right" : "wrong", held ? "yes" : "no"
}
END {
    printf "# %d of %d rows have the mail's sign; of 2 held out %d%s\n", right, n, held_good,
           held_good < 2 ? ": nothing may be concluded about the tails of full hosts" : ""
    exit !(n && right >= 0.8 * n)
}
