#!/bin/sh
# Makes sure that a JDK of Java 17 or newer and Maven are there: installs them where it may (root, apt-get), otherwise
# names what is missing in one line and fails.
set -eu

java_is_new_enough() {
    command -v javac >/dev/null 2>&1 || return 1
    major=$(javac -version 2>&1 | sed -n 's/^javac \([0-9]*\).*/\1/p')
    [ -n "$major" ] && [ "$major" -ge 17 ]
}

missing() {
    java_is_new_enough || echo "a JDK of Java 17 or newer"
    command -v mvn >/dev/null 2>&1 || echo "Maven (mvn)"
}

install_by_apt() {
    apt-get update -qq
    java_is_new_enough || for jdk in openjdk-17-jdk-headless openjdk-21-jdk-headless default-jdk-headless; do
        if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$jdk"; then break; fi
    done
    command -v mvn >/dev/null 2>&1 ||
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends maven
}

[ -z "$(missing)" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    install_by_apt >&2
fi
left=$(missing | paste -sd, - | sed 's/,/ and /')
if [ -n "$left" ]; then
    echo "missing: $left; install it with the system's package manager (needed for real Kafka and Spark)" >&2
    exit 1
fi
