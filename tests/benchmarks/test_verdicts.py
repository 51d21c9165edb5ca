"""Targets beside what was measured: which are met, by how much, and how they read."""

from __future__ import annotations

from benchmarks.compare import report, verdicts
from benchmarks.compare.runner import Outcome
from benchmarks.compare.verdicts import Verdict
from benchmarks.compare.work import AIOKAFKA, CONFLUENT, KAFKA_PYTHON, KWIRE, RAW
from benchmarks.compare.works import work_named


def measured(name: str, contender: str, *costs: float) -> list[Outcome]:
    """Rounds of a work in which it cost so much, in the unit of the work."""
    work = work_named(name)
    return [Outcome(name, contender, number, "", {work.metric: cost / work.scale}) for number, cost in enumerate(costs)]


def test_a_cost_and_a_peer_s_multiple_of_it() -> None:
    found = verdicts.verdicts(
        [*measured("produce-fates", KWIRE, 0.2, 0.4, 0.25), *measured("produce-fates", CONFLUENT, 1.0, 2.4, 1.0)]
    )
    assert found == [
        Verdict("produce, each fate known", "≤ 0.3 CPU s per million", "0.25 CPU s per million", 0.3 / 0.25),
        Verdict("produce, each fate known", "confluent-kafka ≥ 6x", "5.00x (4.00-6.00)", 5 / 6),
    ]
    assert [verdict.met for verdict in found] == [True, False]


def test_a_rate() -> None:
    (found,) = verdicts.verdicts(measured("crc32c", KWIRE, 2**20 / 20))
    assert found == Verdict("CRC-32C of 1 MiB", "≥ 15 GB/s", "20 GB/s", 20 / 15)


def test_a_multiple_of_the_raw_socket_s_time() -> None:
    (found,) = verdicts.verdicts([*measured("one-p50", KWIRE, 20.0), *measured("one-p50", RAW, 10.0)])
    assert found == Verdict("one record in flight, p50", "≤ 1.5x raw-socket", "2.00x (2.00-2.00)", 0.75)


def test_a_multiple_of_its_own_cost_in_another_work() -> None:
    (found,) = verdicts.verdicts([*measured("produce-512", KWIRE, 1.0, 1.2), *measured("produce-1", KWIRE, 1.0, 1.0)])
    assert found == Verdict(
        "produce to 512 partitions in turn", '≤ 1.1x "produce to 1 partition, named"', "1.10x (1.00-1.20)", 1.0
    )


def test_what_was_not_measured_is_not_judged() -> None:
    assert verdicts.verdicts([]) == []
    assert verdicts.verdicts(measured("columns", AIOKAFKA, 900.0)) == []
    assert [
        verdict.target
        for verdict in verdicts.verdicts(
            [*measured("columns", KWIRE, 20.0), *measured("columns", KAFKA_PYTHON, 4000.0)]
        )
    ] == ["≤ 30 ns", "kafka-python ≥ 100x"]


def test_the_table_counts_what_is_met() -> None:
    text = report.tables([*measured("produce-fates", KWIRE, 0.25), *measured("produce-fates", CONFLUENT, 1.25)])
    assert "### Targets: 1 of 2 met" in text
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
    assert ["produce, each fate known", "confluent-kafka ≥ 6x", "5.00x (5.00-5.00)", "0.83", "missed"] in rows
    assert ["produce, each fate known", "≤ 0.3 CPU s per million", "0.25 CPU s per million", "1.20", "met"] in rows
