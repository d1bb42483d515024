# SPDX-License-Identifier: GPL-2.0-or-later
#
# placement.csv for people: each policy against LLC-blind Linux, per cent, with
# better always positive; how often it was best, worst, and how often it lost.
# A row counts as lost when it is more than 2 % worse, beyond twice the standard
# error of the difference of both means.

BEGIN { FS = "," }
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function gain(name, sign,  base, now, error, noise) {
    base = blind[name]
    now = $(column[name "_us"] ? column[name "_us"] : column[name])
    error = $(column[name "_std"])
    noise = 2 * sqrt((error ^ 2 + blind_error[name] ^ 2) / $(column["seeds"]))
    if (base <= 0) return 0
    loses = sign * (now - base) < -0.02 * base && sign * (base - now) > noise
    lost[$2] += loses
    if (loses) losses[$2] = losses[$2] sprintf("  %s %s %s: %+.1f %%\n", $2, $1, name, sign * 100 * (now / base - 1))
    return sign * 100 * (now / base - 1) + 0
}
function flush(  policy, best, worst) {
    best = -1e9; worst = 1e9
    for (policy in score) {
        if (score[policy] > best) best = score[policy]
        if (score[policy] < worst) worst = score[policy]
    }
    for (policy in score) {
        if (best > worst + 1) {
            if (score[policy] >= best - 0.5) first[policy]++
            if (score[policy] <= worst + 0.5) last[policy]++
        }
    }
    rows++
    split("", score)
}
$1 != previous { if (previous != "") flush(); previous = $1 }
$2 == "blind" {
    blind["p99"] = $(column["p99_us"]); blind_error["p99"] = $(column["p99_std"])
    blind["p50"] = $(column["p50_us"]); blind_error["p50"] = $(column["p50_std"])
    blind["throughput"] = $(column["throughput"]); blind_error["throughput"] = $(column["throughput_std"])
}
{
    p50 = gain("p50", -1); p99 = gain("p99", -1); work = gain("throughput", 1)
    score[$2] = p99 + work
    if (!head++) printf "%-36s %-12s %9s %7s %9s %7s %10s %7s %7s %8s\n", "case", "policy", "p50 us", "%", "p99 us", "%", "work ms/s", "%", "aligned", "migr./s"
    printf "%-36s %-12s %9.2f %+7.1f %9.2f %+7.1f %10.1f %+7.1f %7.3f %8.1f\n", $1, $2, $(column["p50_us"]), p50, $(column["p99_us"]), p99, $(column["throughput"]), work, $(column["aligned"]), $(column["migrations"])
}
END {
    flush()
    printf "\n%-12s %5s %5s %5s of %d rows\n", "policy", "best", "worst", "lost", rows
    for (policy in lost) printf "%-12s %5d %5d %5d\n", policy, first[policy], last[policy], lost[policy]
    printf "\nlost by llcsched:\n%s", losses["llcsched"] ? losses["llcsched"] : "  none\n"
}
