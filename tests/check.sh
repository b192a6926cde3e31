#!/bin/sh
# Everything that has to hold: form, lint, types, import contracts, tests, coverage.
# Usage, from the project's root, in an environment with the 'dev' extra: sh tests/check.sh
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export COVERAGE_FILE="$work/coverage"

step() {
    printf '\n== %s\n' "$*"
    "$@"
}

# `sh` has no pipefail: the status of the tests goes through a file.
tests() {
    { "$@" 2>&1 && echo passed >"$work/status" || true; } | tee "$work/tests"
    test -e "$work/status"
}

step ruff format --check .
step ruff check .
step mypy
step lint-imports --no-logo
step tests python -m pytest -n 2 --cov --cov-report=
step coverage report --skip-covered --show-missing --fail-under=95
# What is promised to hold in any order and at any speed is covered to the last branch.
step coverage report --skip-covered --show-missing --fail-under=100 \
    --include='deep_research/core/*,deep_research/runtime/*'

printf '\n== all passed\n'
tail -n 1 "$work/tests"
