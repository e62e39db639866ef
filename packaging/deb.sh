#!/bin/sh
# Makes the Debian package of a binary that was built: deb.sh BINARY FOLDER [VERSION]
#
# The package, and nothing else, comes into the folder. The manual pages and completions are the binary's own. The tree
# stays as it is: everything happens in a folder of its own.
set -eu

binary=$1
folder=$2
root=$(cd "$(dirname "$0")/.." && pwd)
version=${3:-$("$binary" --version | sed -n 's/^[a-z]* \([0-9.]*\) .*/\1/p')}
# The same sources make the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/feedstore
mkdir -p "$source/built/bash" "$source/built/zsh" "$source/built/fish" "$source/config"
cp -R "$root/packaging/debian" "$source/debian"
cp -R "$root/docs" "$root/README.md" "$source/"
cp "$root/packaging/feedstore.json5" "$source/config/"
# The followers find each other's files as they do in the sources.
mkdir -p "$source/examples/clients" "$source/examples/web"
cp "$root/config/feedstore.json5" "$source/examples/"
cp -R "$root/config/prometheus" "$root/config/grafana" "$source/examples/"
cp "$root"/examples/*.py "$root"/examples/*.mjs "$source/examples/clients/"
cp "$root/web/replica.js" "$root/web/event-stream.js" "$root/web/package.json" "$source/examples/web/"
cp "$binary" "$source/built/feedstore"
"$binary" manual >"$source/built/feedstore.1"
"$binary" manual --configuration "$root/config/feedstore.json5" >"$source/built/feedstore.json5.5"
"$binary" completions bash >"$source/built/bash/feedstore"
"$binary" completions zsh >"$source/built/zsh/_feedstore"
"$binary" completions fish >"$source/built/fish/feedstore.fish"
cat >"$source/debian/changelog" <<END
feedstore ($version) bookworm; urgency=medium

  * Made from the sources: see CHANGELOG.md there.

 -- $(sed -n 's/^Maintainer: //p' "$source/debian/control")  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END

# Debugging information would be many times as large as the program.
(cd "$source" && DEB_BUILD_OPTIONS='nocheck noautodbgsym' dpkg-buildpackage --build=binary --no-sign) >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
mkdir -p "$folder"
cp "$work"/feedstore_*.deb "$folder/"
echo "$folder/$(basename "$work"/feedstore_*.deb)"
