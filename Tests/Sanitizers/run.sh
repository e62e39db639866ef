#!/usr/bin/env bash
# run.sh address|thread [FILTER...]: runs the suites that a sanitizer can run, with the tests that were built for it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
sanitizer=$1
shift
build=.build/sanitize-$sanitizer/debug
# Swift's own report of a crash would come before the sanitizer's, and may wait for ever.
export SWIFT_BACKTRACE=enable=no

case $sanitizer in
address)
  export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:detect_stack_use_after_return=0}
  export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/Tests/Sanitizers/leaks.supp:print_suppressions=0}
  ;;
thread)
  export TSAN_OPTIONS=${TSAN_OPTIONS:-suppressions=$PWD/Tests/Sanitizers/threads.supp:halt_on_error=0:exitcode=66:second_deadlock_stack=1}
  export LD_PRELOAD=$PWD/.build/libThreadShim.so
  ;;
*)
  echo "there is no sanitizer '$sanitizer'; there are: address, thread" >&2
  exit 2
  ;;
esac

# The suites that need no cluster; some start the built command, which is instrumented as well.
if [ $# = 0 ]; then
  case $sanitizer in
  address) set -- --skip '^BrokerTests\.' ;;
  # Those with threads, and the simulation. A thousand readers in a process with all other tests take the better part
  # of an hour.
  thread) set -- --filter '^(OperatingSystemTests|DiagnosticsTests|HTTPTests|KafkaTests|FeedClientTests|FeedWorkerTests|FeedHTTPTests|SimulationTests|EndToEndTests)\.' \
    --skip '^EndToEndTests\.SlowReadersTests' ;;
  esac
fi
exec timeout --kill-after=30s 60m "$build/feedstorePackageTests.xctest" --testing-library swift-testing "$@"
