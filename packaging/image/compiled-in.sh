#!/bin/sh
# Prints what is compiled into the binary or linked statically, as the build machine has it: name, version, licence.
set -eu
swift=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' | head -n 1)
printf 'swift-runtime\t%s\tApache-2.0 WITH Swift-exception\n' "$swift"
printf 'xxhash\t%s\tBSD-2-Clause\n' "$(dpkg-query -W -f='${Version}' libxxhash-dev)"
printf 'simdjson\t%s\tApache-2.0\n' "$(dpkg-query -W -f='${Version}' libsimdjson-dev)"
