# The tasks of the project; each target says in the comment above it what it does.

# Java 17+ and Maven, for real Kafka and for Spark: installed where that is allowed, else named as missing.
.PHONY: java
java:
	@sh tests/brokers/ensure_java.sh
