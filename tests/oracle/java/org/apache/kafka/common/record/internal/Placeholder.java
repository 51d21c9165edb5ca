package org.apache.kafka.common.record.internal;

/**
 * Makes this package known to the compiler. Kafka 4.x has the record classes in here, older releases one package above,
 * and a source that imports all of both packages compiles against either only if both exist.
 */
final class Placeholder {
    private Placeholder() {
    }
}
