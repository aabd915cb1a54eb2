# Two images: `acklog` (the default) runs every command of Acklog, `etcd` a member of etcd for compose.yaml.
#   docker build -t acklog . && docker run --rm acklog --help
FROM python:3.11-slim-bookworm AS build
RUN python -m venv /opt/acklog
WORKDIR /source
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY packaging packaging
COPY acklog acklog
COPY cluster cluster
COPY storage storage
COPY app app
COPY acklog_server acklog_server
RUN /opt/acklog/bin/pip install --no-cache-dir --disable-pip-version-check --constraint constraints.txt \
      "./packaging/acklog[batches,cli]" ".[arrow,cluster,tracing]" \
 && /opt/acklog/bin/python -m compileall -q /opt/acklog/lib

FROM debian:bookworm-slim AS etcd
RUN apt-get update && apt-get install --yes --no-install-recommends etcd-server && rm -rf /var/lib/apt/lists/* \
 && install --directory --owner=nobody /var/lib/etcd
USER nobody
VOLUME /var/lib/etcd
EXPOSE 2379 2380
ENTRYPOINT ["etcd"]

FROM python:3.11-slim-bookworm AS acklog
RUN useradd --system --uid 10001 --no-create-home acklog \
 && install --directory --owner=acklog --mode=0750 /var/lib/acklog
COPY --from=build /opt/acklog /opt/acklog
ENV PATH=/opt/acklog/bin:$PATH
USER acklog
WORKDIR /var/lib/acklog
VOLUME /var/lib/acklog
# 8080: serve and gateway. 7000: node. 7080: a node's health and metrics.
EXPOSE 8080 7000 7080
ENTRYPOINT ["acklog"]
CMD ["--help"]
