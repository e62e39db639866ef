# feedstore in a small image. Made for Debian 12, whose librdkafka it is tested with.
#
#   docker build --build-arg FEEDSTORE_COMMIT=$(git rev-parse --short=12 HEAD) --tag feedstore:local .
#
# It needs no root, no capabilities and no files of its own to write: run it with --read-only --cap-drop=ALL
# --security-opt=no-new-privileges. /usr/share/feedstore/sbom.spdx.json lists what is in it.

ARG SWIFT_IMAGE=docker.io/library/swift:6.3-bookworm
ARG DEBIAN_IMAGE=docker.io/library/debian:bookworm-slim

FROM ${SWIFT_IMAGE} AS build
WORKDIR /feedstore
# The packages that the build needs are named in the Makefile.
COPY Makefile ./
RUN apt-get update \
 && apt-get install --yes --no-install-recommends make \
 && make setup \
 && rm -rf /var/lib/apt/lists/*
# Tests are not built, but belong to the package.
COPY Package.swift ./
COPY Sources Sources
COPY Tests Tests
COPY web web
COPY clients/js/src clients/js/src
COPY examples/history.ndjson examples/history.ndjson
COPY packaging packaging
# For `feedstore --version`.
ARG FEEDSTORE_COMMIT=unknown
RUN make package-binary COMMIT="$FEEDSTORE_COMMIT" \
 && install -D --strip .build/package/release/feedstore /image/usr/bin/feedstore \
 && install -D packaging/image/healthcheck /image/usr/lib/feedstore/healthcheck \
 && install -D packaging/image/sbom.sh /image/usr/lib/feedstore/sbom.sh \
 && install -D --mode=644 packaging/debian/copyright /image/usr/share/doc/feedstore/copyright \
 && packaging/image/compiled-in.sh >/image/usr/lib/feedstore/compiled-in.tsv

FROM ${DEBIAN_IMAGE}
COPY --from=build /image/ /
# The libraries that the command is linked with; certificates are for brokers with TLS.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates libcurl3-gnutls libmicrohttpd12 librdkafka1 \
      zlib1g \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb /var/log/apt /var/log/dpkg.log \
 && useradd --system --uid 10001 --user-group --no-create-home --home-dir / --shell /usr/sbin/nologin feedstore \
 && mkdir -p /usr/share/feedstore \
 && sh /usr/lib/feedstore/sbom.sh /usr/lib/feedstore/compiled-in.tsv >/usr/share/feedstore/sbom.spdx.json \
 && rm /usr/lib/feedstore/sbom.sh /usr/lib/feedstore/compiled-in.tsv
USER 10001:10001
EXPOSE 8321
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=6 CMD ["/usr/lib/feedstore/healthcheck"]
ENTRYPOINT ["feedstore"]
CMD ["run"]
