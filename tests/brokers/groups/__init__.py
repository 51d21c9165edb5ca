"""Groups of kwire's members and of Java's on real Kafka: who gets which partitions, and that nothing is lost.

Each member is a process, so that it can be killed. Java's are `VerifiableConsumer` of the tools that fit the release;
`member.py` is the same program with kwire, with the same events on its standard output. `members.py` starts them and
reads their events, `described.py` asks the broker, `ledger.py` holds what was owned and read against what may be.
"""
