#!/bin/sh
# Prints an SPDX 2.3 bill of materials of an image as JSON: feedstore, the libraries compiled into it (a file of
# compiled-in.sh), and every Debian package.
set -eu
version=$(feedstore --version | sed -n 's/^feedstore \([^ ]*\) .*/\1/p')
commit=$(feedstore --version | sed -n 's/.*commit \([^,]*\),.*/\1/p')
created=$(date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} +%Y-%m-%dT%H:%M:%SZ)
{
  printf 'feedstore\t%s\tApache-2.0\tgeneric\t\n' "$version"
  sed 's/$/\tgeneric\t/' "$1"
  dpkg-query -W -f='${Package}\t${Version}\tNOASSERTION\tdeb/debian\t${Architecture}\n'
} | awk -F '\t' -v version="$version" -v commit="$commit" -v created="$created" '
  function encoded(text) { gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text); gsub(/~/, "%7E", text); return text }
  function identifier(text) { gsub(/\+/, "-plus-", text); return "SPDXRef-" text }
  BEGIN {
    printf "{\"spdxVersion\":\"SPDX-2.3\",\"dataLicense\":\"CC0-1.0\",\"SPDXID\":\"SPDXRef-DOCUMENT\",\"name\":\"feedstore-image\","
    printf "\"documentNamespace\":\"https://feedstore.invalid/spdx/%s-%s-%s\",", version, commit, created
    printf "\"creationInfo\":{\"created\":\"%s\",\"creators\":[\"Tool: feedstore-sbom.sh\"]},\"packages\":[", created
  }
  {
    kind = $4 == "generic" ? "compiled-in-" : "deb-"
    id = NR == 1 ? "SPDXRef-feedstore" : identifier(kind $1)
    purl = "pkg:" $4 "/" encoded($1) "@" encoded($2) ($5 == "" ? "" : "?arch=" $5)
    printf "%s{\"SPDXID\":\"%s\",\"name\":\"%s\",\"versionInfo\":\"%s\",\"downloadLocation\":\"NOASSERTION\",", (NR > 1 ? "," : ""), id, $1, $2
    printf "\"filesAnalyzed\":false,\"licenseConcluded\":\"NOASSERTION\",\"licenseDeclared\":\"%s\",\"copyrightText\":\"NOASSERTION\",", $3
    printf "\"externalRefs\":[{\"referenceCategory\":\"PACKAGE-MANAGER\",\"referenceType\":\"purl\",\"referenceLocator\":\"%s\"}]}", purl
    relation = kind == "compiled-in-" ? "CONTAINS" : "DEPENDS_ON"
    if (NR > 1) relations = relations sprintf(",{\"spdxElementId\":\"SPDXRef-feedstore\",\"relationshipType\":\"%s\",\"relatedSpdxElement\":\"%s\"}", relation, id)
  }
  END {
    printf "],\"relationships\":[{\"spdxElementId\":\"SPDXRef-DOCUMENT\",\"relationshipType\":\"DESCRIBES\",\"relatedSpdxElement\":\"SPDXRef-feedstore\"}%s]}\n", relations
  }'
