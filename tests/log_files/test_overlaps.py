"""Segments that hold the same offsets: each is read once, from the lineage of leader epochs that was valid last."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kwire import records
from kwire.log_files.folders import find_logs
from kwire.log_files.partition_log import PartitionLog
from tests.log_files.written import STORAGE, batch, read, write_segment

UUIDS = ("oAtiIQ95REujbuzNd_lkLQ", "BFyXlC8ySMm-Uzxw5lZSMg", "tvHCaSDsQZWsjr5rbtCjxA")


def epoch_batch(first: int, epoch: int, by: str) -> bytes:
    """Ten records, whose values say which leader wrote them."""
    return records.encode([by.encode()] * 10, base_offset=first, partition_leader_epoch=epoch)


def merged(*paths: Path) -> PartitionLog:
    return PartitionLog([STORAGE], find_logs(STORAGE, [str(path) for path in paths]))


def seen(log: PartitionLog, target: int = 1 << 40) -> list[tuple[int, str]]:
    """The first offset of each ten and who wrote them; fails when one is there twice."""
    found = read(log, target=target)
    offsets = [record.offset for record in found]
    assert offsets == sorted(set(offsets))
    return [(r.offset, (r.value or b"").decode()) for r in found if r.offset % 10 == 0]


def tiered(folder: Path, number: int, base: int, batches: Sequence[bytes], index: bool = True) -> None:
    path = write_segment(folder, batches, base=base, index=index)
    for suffix in (".log", ".index")[: 1 + index]:
        path.with_suffix(suffix).rename(folder / f"{base}-{UUIDS[number]}{suffix}")


@pytest.mark.parametrize("target", [1 << 40, 1])
def test_replicas(tmp_path: Path, target: int) -> None:
    one, two = (tmp_path / name / "orders-0" for name in ("one", "two"))
    batches = [batch(10 * number) for number in range(9)]
    write_segment(one, batches[:5])
    write_segment(one, batches[5:], base=50)
    write_segment(two, batches[2:7], base=20)
    whole = [record.offset for record in read(merged(one, two), target=target)]
    assert whole == list(range(90))


def test_what_was_cut_off_after_an_unclean_election(tmp_path: Path) -> None:
    lost, valid = (tmp_path / name / "orders-0" for name in ("lost", "valid"))
    write_segment(lost, [epoch_batch(10 * n, 0, "first") for n in range(6)])
    write_segment(valid, [epoch_batch(10 * n, 0, "first") for n in range(3)])
    write_segment(valid, [epoch_batch(10 * n, 2, "second") for n in range(3, 5)], base=30)
    expected = [(0, "first"), (10, "first"), (20, "first"), (30, "second"), (40, "second")]
    assert seen(merged(lost, valid)) == seen(merged(valid, lost)) == expected


def test_a_noted_epoch_without_its_records(tmp_path: Path) -> None:
    lost, valid = (tmp_path / name / "orders-0" for name in ("lost", "valid"))
    write_segment(lost, [epoch_batch(10 * n, 0, "first") for n in range(6)])
    write_segment(valid, [epoch_batch(0, 0, "first"), epoch_batch(40, 2, "second")])
    (valid / "leader-epoch-checkpoint").write_text("0\n2\n0 0\n2 20\n")
    assert seen(merged(lost, valid)) == [(0, "first"), (10, "first"), (40, "second")]


def test_checkpoints_of_endless_digits_note_nothing(tmp_path: Path) -> None:
    lost, valid = (tmp_path / name / "orders-0" for name in ("lost", "valid"))
    write_segment(lost, [epoch_batch(10 * n, 0, "first") for n in range(6)])
    write_segment(valid, [epoch_batch(0, 0, "first"), epoch_batch(40, 2, "second")])
    (valid / "leader-epoch-checkpoint").write_text(f"0\n2\n0 0\n2 {'9' * 5000}\n")
    (valid.parent / "log-start-offset-checkpoint").write_text(f"0\n1\norders 0 {'9' * 5000}\n")
    assert seen(merged(lost, valid))[0] == (0, "first")


@pytest.mark.parametrize("index", [True, False])
def test_tiered_segments_of_two_leaders(tmp_path: Path, index: bool) -> None:
    folder = tmp_path / f"orders-0-{UUIDS[0]}"
    tiered(folder, 0, 0, [epoch_batch(10 * n, 0, "first") for n in range(5)], index)
    tiered(folder, 1, 30, [epoch_batch(10 * n, 1, "second") for n in range(3, 8)], index)
    tiered(folder, 2, 80, [epoch_batch(80, 1, "second")], index)
    expected = [(10 * n, "first" if n < 3 else "second") for n in range(9)]
    assert seen(merged(tmp_path)) == seen(merged(tmp_path), target=1) == expected


def test_a_tiered_segment_that_was_uploaded_twice(tmp_path: Path) -> None:
    folder = tmp_path / f"orders-0-{UUIDS[0]}"
    for number in range(2):
        tiered(folder, number, 0, [epoch_batch(10 * n, 0, "first") for n in range(5)])
    assert seen(merged(tmp_path)) == [(10 * n, "first") for n in range(5)]


def test_old_formats_have_no_epochs(tmp_path: Path) -> None:
    one, two = (tmp_path / name / "orders-0" for name in ("one", "two"))
    batches = [batch(10 * number, magic=1, compression="gzip") for number in range(4)]
    write_segment(one, batches[:3])
    write_segment(two, batches)
    assert [record.offset for record in read(merged(one, two), target=1)] == list(range(40))
