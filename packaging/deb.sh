#!/bin/sh
# Builds the Debian package for a compiled binary: deb.sh BINARY FOLDER [VERSION]
#
# Only the package is written to the folder. The binary itself prints the completions. The work tree is
# not changed: the build uses a folder of its own.
set -eu

binary=$1
folder=$2
root=$(cd "$(dirname "$0")/.." && pwd)
version=${3:-$("$binary" --version | sed -n 's/^[a-z]* \([0-9.]*\) .*/\1/p')}
# The same sources produce the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
source=$work/feedstore
mkdir -p "$source/built/bash" "$source/built/zsh" "$source/built/fish" "$source/config"
cp -R "$root/packaging/debian" "$source/debian"
cp -R "$root/docs" "$root/README.md" "$source/"
cp "$root/packaging/feedstore.json5" "$source/config/"
mkdir -p "$source/examples/clients/js" "$source/examples/clients/python"
cp "$root/config/feedstore.json5" "$source/examples/"
cp -R "$root/config/prometheus" "$root/config/grafana" "$source/examples/"
cp -R "$root/clients/python/src" "$root/clients/python/pyproject.toml" "$root/clients/python/README.md" "$source/examples/clients/python/"
# Neither what Python compiled, nor an empty file among the documents.
find "$source/examples/clients/python" \( -name __pycache__ -o -name py.typed \) -prune -exec rm -r {} +
cp -R "$root/clients/js/package.json" "$root/clients/js/README.md" "$root/clients/js/bin" "$root/clients/js/src" "$root/clients/js/types" "$source/examples/clients/js/"
cp "$binary" "$source/built/feedstore"
cp "$root/packaging/feedstore.1" "$source/built/"
"$binary" completions bash >"$source/built/bash/feedstore"
"$binary" completions zsh >"$source/built/zsh/_feedstore"
"$binary" completions fish >"$source/built/fish/feedstore.fish"
cat >"$source/debian/changelog" <<END
feedstore ($version) bookworm; urgency=medium

  * Built from the sources: see CHANGELOG.md there.

 -- $(sed -n 's/^Maintainer: //p' "$source/debian/control")  $(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
END

# Debug information would be many times as large as the program.
(cd "$source" && DEB_BUILD_OPTIONS='nocheck noautodbgsym' dpkg-buildpackage --build=binary --no-sign) >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
mkdir -p "$folder"
cp "$work"/feedstore_*.deb "$folder/"
echo "$folder/$(basename "$work"/feedstore_*.deb)"
