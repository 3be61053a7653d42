# A worker: reads uploads and runs captures, so it holds torch and a C++ compiler.
FROM python:3.11-slim AS build
WORKDIR /src
COPY requirements requirements
RUN pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md LICENSE hatch_build.py ./
COPY ingest ingest
COPY server server
COPY frontend frontend
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels .

FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 10001 scope && mkdir /data && chown scope /data
# The CPU build of torch comes first; name another one for a GPU worker.
ARG TORCH=torch==2.13.0
ARG TORCH_INDEX=
RUN pip install --no-cache-dir ${TORCH_INDEX:+--index-url ${TORCH_INDEX}} ${TORCH}
COPY requirements/images.txt .
RUN pip install --no-cache-dir --require-hashes -r images.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl && rm -r /wheels images.txt
USER scope
ENV INDUCTORSCOPE_DATA=/data HOME=/tmp
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s CMD ["inductorscope", "worker-health"]
CMD ["inductorscope", "worker"]
