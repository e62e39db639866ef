# feedstore in a small image. Made for Debian 12, whose librdkafka and simdjson it is tested with.

ARG SWIFT_VERSION=6.3
FROM swift:${SWIFT_VERSION}-bookworm AS build
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
RUN swift build -c release --static-swift-stdlib --product feedstore \
 && install -D .build/release/feedstore /image/usr/local/bin/feedstore \
 && strip /image/usr/local/bin/feedstore

FROM debian:bookworm-slim
# The libraries that the command is linked with; certificates are for brokers with TLS.
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates libmicrohttpd12 librdkafka1 \
      libsimdjson14 zlib1g \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin feedstore
COPY --from=build /image/ /
USER 10001
ENTRYPOINT ["feedstore"]
CMD ["run"]
