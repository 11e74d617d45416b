#!/bin/sh
# Exit code 0 if the newest version of a model may be released: sh release-gate.sh MODEL
set -u
aisbench regress --model "$1" --junit regress.xml --markdown regress.md
case $? in
    0) echo "release: no regression" ;;
    5) echo "no release: a regression, see regress.md" >&2; exit 1 ;;
    6) echo "no release: too few runs to detect a regression" >&2; exit 1 ;;
    *) echo "no release: the results could not be compared" >&2; exit 2 ;;
esac
