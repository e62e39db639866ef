#!/bin/sh
# Prints the name, version and licence of everything that is compiled into the binary or statically linked, as on the
# build machine.
set -eu
swift=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
printf 'swift-runtime\t%s\tApache-2.0 WITH Swift-exception\n' "$swift"
printf 'xxhash\t%s\tBSD-2-Clause\n' "$(dpkg-query -W -f='${Version}' libxxhash-dev)"
