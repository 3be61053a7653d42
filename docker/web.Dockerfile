# The web process: pages and API. Holds neither torch nor a compiler.
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
RUN useradd --create-home --uid 10001 scope && mkdir /data && chown scope /data
COPY requirements/images.txt .
RUN pip install --no-cache-dir --require-hashes -r images.txt
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-deps /wheels/*.whl && rm -r /wheels images.txt
USER scope
ENV INDUCTORSCOPE_DATA=/data INDUCTORSCOPE_HOST=0.0.0.0 INDUCTORSCOPE_PORT=8765
EXPOSE 8765
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8765/healthz', timeout=2)"]
CMD ["inductorscope", "serve", "--workers", "0"]
