# One image for Airflow and Spark: the tasks submit from it, the executors run in it, so that versions agree.
FROM python:3.11-slim-bookworm

RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
 && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/starskip
# The libraries first and alone: they change seldom, and a change of the code then takes seconds.
COPY requirements.txt ./
RUN grep -v '^-e' requirements.txt > /tmp/libraries.txt \
 && pip install --no-cache-dir --disable-pip-version-check -r /tmp/libraries.txt

COPY pyproject.toml PACKAGE.md LICENSE ./
COPY include include
COPY dags dags
COPY plugins plugins
COPY spark_jobs spark_jobs

# A volume takes its owner from the folder that it covers when it is made.
RUN pip install --no-cache-dir --disable-pip-version-check --no-deps -e . \
 && useradd --create-home --uid 50000 starskip \
 && mkdir -p /opt/airflow/logs /opt/starskip/night /opt/spark/work \
 && chown -R starskip /opt/airflow /opt/starskip/night /opt/spark/work
USER starskip

ENV AIRFLOW_HOME=/opt/airflow \
    AIRFLOW__CORE__DAGS_FOLDER=/opt/starskip/dags \
    AIRFLOW__CORE__PLUGINS_FOLDER=/opt/starskip/plugins \
    AIRFLOW__CORE__LOAD_EXAMPLES=False \
    AIRFLOW__USAGE_DATA_COLLECTION__ENABLED=False \
    PYTHONUNBUFFERED=1
