#!/bin/sh
# Compiles the library, its tests and the examples into a temporary directory, and runs the tests.
# "test.sh mutants" also breaks each rule, and checks that the conformance test fails.
# "test.sh load ADDRESS [THREADS [IDS]]" makes IDs from a running member, and measures them.
set -eu
cd "$(dirname "$0")"
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT INT TERM
javac --release 17 -Xlint:all -Werror -d "$out/classes" $(find src -name '*.java')
javac --release 17 -Xlint:all -Werror -cp "$out/classes" -d "$out/examples" $(find examples -name '*.java')
run() { java -ea -Dconformance=../conformance.json -cp "$out/classes" "io.github.snowgrid.$@"; }
if [ "${1:-}" = load ]; then
    shift
    run Load "$@"
    exit
fi
run ConformanceTest
run GeneratorTest
if [ "${1:-}" = mutants ]; then
    run Mutants src "$out/mutants"
fi
