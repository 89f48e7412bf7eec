"""The agent of `helix demo`: a shell script that knows the sample shop and nothing else."""

from __future__ import annotations

AGENT = r"""#!/bin/sh
prompt=$(cat)
has() { case $prompt in *"$1"*) true ;; *) false ;; esac; }
finding() {
    printf 'REVIEW_STATUS: ISSUES_FOUND\nISSUES_COUNT: 1\n\n```json\n'
    printf '[{"severity": "high", "title": "%s", "file": "%s", "line": 1,\n' "$1" "$2"
    printf '  "detail": "%s", "area": "shop", "acceptance": "- `%s` passes"}]\n```\n' "$3" "$4"
}
case $HELIX_ACTION in
build)
    if [ -f "$STAGE/build-$DDX_BEAD_ID" ]; then
        . "$STAGE/build-$DDX_BEAD_ID"
    else
        echo 'bell 4.50 EUR' > prices.txt
        echo 'The prices name their currency now.'
    fi ;;
review)
    if has 'Checks that failed'; then
        finding 'It wrote opening.md, but opening.txt is asked for' opening.md 'see verify' true
    elif has '+bell 4.50' && ! has '4.50 EUR'; then
        finding 'Prices have no currency' prices.txt '4.50 of what?' 'grep -q EUR prices.txt'
    else
        printf 'REVIEW_STATUS: CLEAN\nISSUES_COUNT: 0\n'
    fi ;;
polish)
    printf 'POLISH_STATUS: CONVERGED\nISSUES_MODIFIED: 0\nISSUES_CREATED: 0\nISSUES_MERGED: 0\n' ;;
check)
    if has '(task, blocked)'; then
        printf 'NEXT_ACTION: GUIDANCE\nREASON: Opening hours cannot be proven\n'
        printf 'QUESTION: shall the opening hours stand in opening.txt or in opening.md?\n'
    else
        printf 'NEXT_ACTION: STOP\nREASON: everything that was asked for is done\n'
    fi ;;
esac
echo '{"usage": {"input": 1200, "output": 300, "cost_usd": 0.02}}'
"""

BUILDS = {
    "document:FEAT-001": """\
echo 'A bell costs 4.50.' >> docs/helix/01-frame/features/FEAT-001-prices.md
echo 'The feature names the price now.'
""",
    "tests:1": """\
mkdir -p tests
echo 'grep -q "^bell 4.50" prices.txt' > tests/prices.sh
echo 'The test fails as long as there is no price list.'
""",
    "build:1": "echo 'bell 4.50' > prices.txt\necho 'The price list is there.'\n",
    "cart": """\
cat > cart.py <<'END'
import sys
from decimal import Decimal

print(sum(map(Decimal, sys.argv[1:])))
END
echo 'It adds up, in decimals.'
""",
    "delivery": """\
if [ ! -f "$STAGE/at-work" ]; then
    touch "$STAGE/at-work"
    n=0
    while [ ! -f "$STAGE/go-on" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
fi
echo 'within two days' > delivery.txt
echo 'Delivery is described.'
""",
    "hours": "echo 'from 9 to 5' > opening.md\necho 'Everything is done.'\n",
}
"""What it does for each bead of the sample."""
