"""Values to columns: the schemas of Avro and Protobuf, made into plans that the codec runs.

Schemas are read here, in Python, once for each reader; values are decoded in `kwire._values`, without an object per
value. Knows neither Spark nor brokers, and imports no Arrow library.
"""
