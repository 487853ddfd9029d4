# shoal in a container: rootless, offline, nothing in it but what pip installs.
#
#   docker build -t shoal .                       (podman build works as well)
#   docker run --rm --network none --read-only --tmpfs /tmp -v "$PWD:/data" -u "$(id -u):$(id -g)" \
#     shoal protect people.csv --plan plan.yaml --out release-1
#
# BASE may be named by its digest, and EPOCH by a commit's time, so that two builds give the same files; VERSION is the
# release's, for there is no git inside. Exact versions
# of what is installed can be had from a file: --build-arg CONSTRAINTS=constraints.txt, kept beside this one.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY pyproject.toml CMakeLists.txt README.md LICENSE* constraints*.txt ./
COPY native native
COPY src src
ARG EPOCH=0
ARG VERSION=
ARG CONSTRAINTS=
ENV SOURCE_DATE_EPOCH=${EPOCH} PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN if [ -n "$VERSION" ]; then export SETUPTOOLS_SCM_PRETEND_VERSION_FOR_SHOAL="$VERSION"; fi && \
    python -m venv /opt/shoal && \
    /opt/shoal/bin/pip install ${CONSTRAINTS:+-c "$CONSTRAINTS"} '.[files,models,scale,sql,documents]' && \
    find /opt/shoal -name __pycache__ -prune -exec rm -rf {} +

FROM ${BASE}
COPY --from=build /opt/shoal /opt/shoal
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin shoal && mkdir /data && chown shoal /data
ENV PATH=/opt/shoal/bin:$PATH PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 HOME=/tmp
USER shoal
WORKDIR /data
ENTRYPOINT ["shoal"]
CMD ["--help"]
