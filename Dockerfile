# Two images: `acklog` (the default) runs every command of Acklog, `etcd` a member of etcd for compose.yaml.
#   docker build -t acklog . && docker run --rm acklog version
#
# Bases are of exact versions. A release names them by digest, which no tag can move (docs/releasing.md):
#   docker build --build-arg PYTHON_IMAGE=python@sha256:... --build-arg DEBIAN_IMAGE=debian@sha256:... .
#
# The official images of Python are built with profile-guided and link-time optimisation (--enable-optimizations,
# --with-lto), which is worth a fifth of the time (docs/benchmarks.md); Debian's own packages are, too.
ARG PYTHON_IMAGE=python:3.11.14-slim-bookworm
ARG DEBIAN_IMAGE=debian:12.12-slim

FROM ${PYTHON_IMAGE} AS build
RUN python -m venv --without-pip /opt/acklog
WORKDIR /source
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY packaging packaging
RUN pip install --no-cache-dir --disable-pip-version-check --requirement packaging/uv.txt
COPY acklog acklog
COPY cluster cluster
COPY storage storage
COPY app app
COPY acklog_server acklog_server
# Only files whose digests are known are installed, those that build included. Compiled here: at run time the file
# system is read-only.
RUN uv pip install --no-cache --python /opt/acklog --constraint constraints.txt --build-constraint constraints.txt \
      "./packaging/acklog[batches,cli]" ".[arrow,cluster,tracing]" \
 && /opt/acklog/bin/python -m compileall -q /opt/acklog/lib

FROM ${DEBIAN_IMAGE} AS etcd
RUN apt-get update && apt-get install --yes --no-install-recommends etcd-server && rm -rf /var/lib/apt/lists/* \
 && install --directory --owner=nobody /var/lib/etcd
USER nobody
VOLUME /var/lib/etcd
EXPOSE 2379 2380
STOPSIGNAL SIGTERM
ENTRYPOINT ["etcd"]

FROM ${PYTHON_IMAGE} AS acklog
ARG VERSION=0.1.0
ARG COMMIT=
ARG CREATED=
LABEL org.opencontainers.image.title="Acklog" \
      org.opencontainers.image.description="A durable message queue over HTTP on top of a replicated log" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.created="${CREATED}"
# Nothing is installed in a container: what could do it is no use to anybody but an intruder.
RUN python -m pip uninstall --yes --quiet --root-user-action=ignore setuptools wheel pip
# By number, which Kubernetes can see not to be root.
RUN groupadd --system --gid 10001 acklog && useradd --system --uid 10001 --gid acklog --no-create-home acklog \
 && install --directory --owner=acklog --group=acklog --mode=0750 /var/lib/acklog
COPY --from=build /opt/acklog /opt/acklog
# `acklog version` tells the commit. Nothing but the data directory is written, so there is nowhere to compile to.
ENV PATH=/opt/acklog/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    ACKLOG_COMMIT=${COMMIT}
USER 10001:10001
WORKDIR /var/lib/acklog
VOLUME /var/lib/acklog
# 8080: serve and gateway. 7000: node. 7080: a node's health and metrics.
EXPOSE 8080 7000 7080
STOPSIGNAL SIGTERM
# It knows by the first process and by the environment which server runs and where. A start may wait for etcd, and
# recovers what is on the disk: failures of the first minutes do not count.
HEALTHCHECK --interval=10s --timeout=5s --start-period=5m --retries=3 CMD ["acklog", "health"]
ENTRYPOINT ["acklog"]
CMD ["--help"]
