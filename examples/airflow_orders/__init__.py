"""Airflow with topics: `dag.py` is a DAG, `kafka.py` has its hook, operators, sensor and trigger, on kwire."""
