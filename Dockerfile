# One image for Airflow and Spark: tasks submit from it and executors run in it, so that versions agree.
# It extends Airflow's own (docs/install.md): user 50000, or any other, in group 0.
ARG AIRFLOW_IMAGE=apache/airflow:slim-3.3.2-python3.12

FROM ${AIRFLOW_IMAGE} AS wheel
COPY --chown=airflow:0 . /tmp/checkout
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /tmp/wheel /tmp/checkout

FROM ${AIRFLOW_IMAGE}
USER root
RUN apt-get update \
 && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
 && apt-get clean \
 && rm -rf /var/lib/apt/lists/*

USER airflow
# What the slim image lacks for Compose and the Helm chart, as Airflow tried it.
RUN pip install --no-cache-dir --constraint "${HOME}/constraints.txt" \
    "apache-airflow[celery,cncf-kubernetes,fab,git,postgres,statsd]==${AIRFLOW_VERSION}"
# The version of your Spark cluster. Airflow's provider brings pyspark-client, which must be the same.
ARG SPARK_VERSION=4.1.3
ARG STARSKIP_EXTRAS=airflow,delta,iceberg,reports,spark,star-trees
# Not under the constraints: they hold the newest pyspark-client, and pandas 3.
RUN --mount=from=wheel,source=/tmp/wheel,target=/tmp/wheel \
    pip install --no-cache-dir "apache-airflow==${AIRFLOW_VERSION}" \
    "pyspark==${SPARK_VERSION}" "pyspark-client==${SPARK_VERSION}" "$(echo /tmp/wheel/*.whl)[${STARSKIP_EXTRAS}]"
# Volumes take owner and mode from the folders that they cover: group 0 writes, whatever the user's number.
RUN umask 0002 && mkdir -p /opt/airflow/night /opt/airflow/spark
