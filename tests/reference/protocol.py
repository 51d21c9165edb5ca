"""Keys 0-20 as the protocol guides of 0.9 and 0.10.1 print their grammars, one value at a time.

Each layout repeats a grammar of the 0.10.1 guide by its heading line, with the wire type behind each name. Values are
plain: an int, text, bytes, None, a list for an array, a tuple for a structure (the values in wire order). Nothing of
kwire is imported. Where the guide is silent or wrong, what the code of the release did stands here: null arrays of
Metadata 1 and 2, null record sets, null configuration values, null error messages. A structure of one field, and one
that is no array, is written as its fields.
"""

from __future__ import annotations

from typing import Any

_INTS = {"int8": 1, "int16": 2, "int32": 4, "int64": 8}

_PRODUCE = "acks int16, timeout int32, topic_data [topic string, data [partition int32, record_set bytes?]]"
_FETCH_TOPICS = "topics [topic string, partitions [partition int32, fetch_offset int64, max_bytes int32]]"
_FETCH = f"replica_id int32, max_wait_time int32, min_bytes int32, {_FETCH_TOPICS}"
_FETCHED = (
    "responses [topic string, partition_responses "
    "[partition int32, error_code int16, high_watermark int64, record_set bytes?]]"
)
_PARTITIONS = (
    "partition_metadata [partition_error_code int16, partition_id int32, leader int32, replicas [int32], isr [int32]]"
)
_REPLICA_ERRORS = "error_code int16, partitions [topic string, partition int32, error_code int16]"
_COMMITTED = "responses [topic string, partition_responses [partition int32, error_code int16]]"

# (key, "request" or "response", version): layout; the comment gives the lines of the 0.10.1 guide; of the 0.9 guide.
LAYOUTS = {
    (0, "request", 0): _PRODUCE,  # 181-188; 72-79
    (0, "request", 1): _PRODUCE,  # 199-206; 89-96
    (0, "request", 2): _PRODUCE,  # 217-224; 106-113
    (0, "response", 0): (  # 236-242; 124-130
        "responses [topic string, partition_responses [partition int32, error_code int16, base_offset int64]]"
    ),
    (0, "response", 1): (  # 252-259; 140-147
        "responses [topic string, partition_responses [partition int32, error_code int16, base_offset int64]], "
        "throttle_time_ms int32"
    ),
    (0, "response", 2): (  # 270-278; 157-165
        "responses [topic string, partition_responses "
        "[partition int32, error_code int16, base_offset int64, timestamp int64]], throttle_time_ms int32"
    ),
    (1, "request", 0): _FETCH,  # 292-301; 177-186
    (1, "request", 1): _FETCH,  # 314-323; 198-207
    (1, "request", 2): _FETCH,  # 336-345; 219-228
    (1, "request", 3): (  # 358-368
        f"replica_id int32, max_wait_time int32, min_bytes int32, max_bytes int32, {_FETCH_TOPICS}"
    ),
    (1, "response", 0): _FETCHED,  # 383-390; 241-248
    (1, "response", 1): f"throttle_time_ms int32, {_FETCHED}",  # 401-409; 260-268
    (1, "response", 2): f"throttle_time_ms int32, {_FETCHED}",  # 421-429; 280-288
    (1, "response", 3): f"throttle_time_ms int32, {_FETCHED}",  # 441-449
    (2, "request", 0): (  # 463-470; 302-309
        "replica_id int32, topics [topic string, partitions [partition int32, timestamp int64, max_num_offsets int32]]"
    ),
    (2, "request", 1): (  # 481-487
        "replica_id int32, topics [topic string, partitions [partition int32, timestamp int64]]"
    ),
    (2, "response", 0): (  # 498-504; 320-325
        "responses [topic string, partition_responses [partition int32, error_code int16, offsets [int64]]]"
    ),
    (2, "response", 1): (  # 514-521
        "responses [topic string, partition_responses "
        "[partition int32, error_code int16, timestamp int64, offset int64]]"
    ),
    (3, "request", 0): "topics [string]",  # 534-535; 337
    (3, "request", 1): "topics [string]?",  # 540-541
    (3, "request", 2): "topics [string]?",  # 546-547
    (3, "response", 0): (  # 553-566; 342-353
        "brokers [node_id int32, host string, port int32], "
        f"topic_metadata [topic_error_code int16, topic string, {_PARTITIONS}]"
    ),
    (3, "response", 1): (  # 583-599
        "brokers [node_id int32, host string, port int32, rack string?], controller_id int32, "
        f"topic_metadata [topic_error_code int16, topic string, is_internal bool, {_PARTITIONS}]"
    ),
    (3, "response", 2): (  # 619-636
        "brokers [node_id int32, host string, port int32, rack string?], cluster_id string?, controller_id int32, "
        f"topic_metadata [topic_error_code int16, topic string, is_internal bool, {_PARTITIONS}]"
    ),
    (4, "request", 0): (  # 659-674; 359-372
        "controller_id int32, controller_epoch int32, partition_states [topic string, partition int32, "
        "controller_epoch int32, leader int32, leader_epoch int32, isr [int32], zk_version int32, replicas [int32]], "
        "live_leaders [id int32, host string, port int32]"
    ),
    (4, "response", 0): _REPLICA_ERRORS,  # 694-699; 391-396
    (5, "request", 0): (  # 710-716; 416-422
        "controller_id int32, controller_epoch int32, delete_partitions bool, partitions [topic string, partition "
        "int32]"
    ),
    (5, "response", 0): _REPLICA_ERRORS,  # 727-732; 432-437
    (6, "request", 0): (  # 743-758; 448-461
        "controller_id int32, controller_epoch int32, partition_states [topic string, partition int32, "
        "controller_epoch int32, leader int32, leader_epoch int32, isr [int32], zk_version int32, replicas [int32]], "
        "live_brokers [id int32, host string, port int32]"
    ),
    (6, "request", 1): (  # 777-794; 479-494
        "controller_id int32, controller_epoch int32, partition_states [topic string, partition int32, "
        "controller_epoch int32, leader int32, leader_epoch int32, isr [int32], zk_version int32, replicas [int32]], "
        "live_brokers [id int32, end_points [port int32, host string, security_protocol_type int16]]"
    ),
    (6, "request", 2): (  # 815-833
        "controller_id int32, controller_epoch int32, partition_states [topic string, partition int32, "
        "controller_epoch int32, leader int32, leader_epoch int32, isr [int32], zk_version int32, replicas [int32]], "
        "live_brokers [id int32, end_points [port int32, host string, security_protocol_type int16], rack string?]"
    ),
    (6, "response", 0): "error_code int16",  # 856-857; 515-516
    (6, "response", 1): "error_code int16",  # 862-863; 534-535
    (6, "response", 2): "error_code int16",  # 868-869
    (7, "request", 1): "broker_id int32",  # 876-877; 557-558
    (7, "response", 1): "error_code int16, partitions_remaining [topic string, partition int32]",  # 883-887; 563-567
    (8, "request", 0): (  # 897-904; 573-580
        "group_id string, topics [topic string, partitions [partition int32, offset int64, metadata string?]]"
    ),
    (8, "request", 1): (  # 915-925; 590-600
        "group_id string, group_generation_id int32, member_id string, topics [topic string, partitions [partition "
        "int32, offset int64, timestamp int64, metadata string?]]"
    ),
    (8, "request", 2): (  # 939-949; 613-623
        "group_id string, group_generation_id int32, member_id string, retention_time int64, topics [topic string, "
        "partitions [partition int32, offset int64, metadata string?]]"
    ),
    (8, "response", 0): _COMMITTED,  # 964-969; 637-642
    (8, "response", 1): _COMMITTED,  # 978-983; 652-657
    (8, "response", 2): _COMMITTED,  # 992-997; 670-675
    (9, "request", 0): "group_id string, topics [topic string, partitions [int32]]",  # 1008-1013; 690-695
    (9, "request", 1): "group_id string, topics [topic string, partitions [int32]]",  # 1022-1027; 703-708
    (9, "response", 0): (  # 1037-1044; 717-724
        "responses [topic string, partition_responses [partition int32, offset int64, metadata string?, error_code "
        "int16]]"
    ),
    (9, "response", 1): (  # 1055-1062; 732-739
        "responses [topic string, partition_responses [partition int32, offset int64, metadata string?, error_code "
        "int16]]"
    ),
    (10, "request", 0): "group_id string",  # 1075-1076; 749-750
    (10, "response", 0): "error_code int16, node_id int32, host string, port int32",  # 1082-1087; 755-760
    (11, "request", 0): (  # 1098-1105; 766-773
        "group_id string, session_timeout int32, member_id string, protocol_type string, group_protocols "
        "[protocol_name string, protocol_metadata bytes]"
    ),
    (11, "request", 1): (  # 1116-1124
        "group_id string, session_timeout int32, rebalance_timeout int32, member_id string, protocol_type string, "
        "group_protocols [protocol_name string, protocol_metadata bytes]"
    ),
    (11, "response", 0): (  # 1137-1145; 784-792
        "error_code int16, generation_id int32, group_protocol string, leader_id string, member_id string, members "
        "[member_id string, member_metadata bytes]"
    ),
    (11, "response", 1): (  # 1157-1165
        "error_code int16, generation_id int32, group_protocol string, leader_id string, member_id string, members "
        "[member_id string, member_metadata bytes]"
    ),
    (12, "request", 0): "group_id string, group_generation_id int32, member_id string",  # 1179-1182; 804-807
    (12, "response", 0): "error_code int16",  # 1190-1191; 814-815
    (13, "request", 0): "group_id string, member_id string",  # 1198-1200; 823-825
    (13, "response", 0): "error_code int16",  # 1207-1208; 831-832
    (14, "request", 0): (  # 1215-1221; 839-845
        "group_id string, generation_id int32, member_id string, group_assignment [member_id string, "
        "member_assignment bytes]"
    ),
    (14, "response", 0): "error_code int16, member_assignment bytes",  # 1232-1234; 855-857
    (15, "request", 0): "group_ids [string]",  # 1242-1243; 868
    (15, "response", 0): (  # 1249-1261; 873-885
        "groups [error_code int16, group_id string, state string, protocol_type string, protocol string, members "
        "[member_id string, client_id string, client_host string, member_metadata bytes, member_assignment bytes]]"
    ),
    (16, "request", 0): "",  # 1279; 891
    (16, "response", 0): "error_code int16, groups [group_id string, protocol_type string]",  # 1281-1285; 893-897
    (17, "request", 0): "mechanism string",  # 1295-1296
    (17, "response", 0): "error_code int16, enabled_mechanisms [string]",  # 1302-1304
    (18, "request", 0): "",  # 1312
    (18, "response", 0): (  # 1314-1319
        "error_code int16, api_versions [api_key int16, min_version int16, max_version int16]"
    ),
    (19, "request", 0): (  # 1330-1341
        "create_topic_requests [topic string, num_partitions int32, replication_factor int16, "
        "replica_assignment [partition_id int32, replicas [int32]], "
        "configs [config_key string, config_value string?]], timeout int32"
    ),
    (19, "response", 0): "topic_error_codes [topic string, error_code int16]",  # 1357-1360
    (20, "request", 0): "topics [string], timeout int32",  # 1369-1371
    (20, "response", 0): "topic_error_codes [topic string, error_code int16]",  # 1378-1381
}

# What the 0.9 guide prints: the versions of requests and of responses, by key. Produce 2 and Fetch 2 came with 0.10.0.
PRINTED_BY_0_9 = {
    **{key: range(3) for key in (0, 1, 8)},
    **{key: range(2) for key in (6, 9)},
    **{key: range(1) for key in (2, 3, 4, 5, 10, 11, 12, 13, 14, 15, 16)},
    7: range(1, 2),
}
# Where it prints something else than the 0.10.1 guide: the same bytes, but for null, which later releases let travel.
# Its lists of plain values have no type at all, which is "" here.
PRINTED_OTHERWISE_BY_0_9 = {
    (2, "response"): {"offsets": ""},
    (3, "request"): {"topics": ""},
    (3, "response"): {"replicas": "", "isr": ""},
    (4, "request"): {"isr": "", "replicas": ""},
    (5, "request"): {"delete_partitions": "int8"},
    (6, "request"): {"isr": "", "replicas": ""},
    (8, "request"): {"metadata": "string"},
    (9, "response"): {"metadata": "string"},
    (15, "request"): {"group_ids": ""},
}


def encode(key: int, direction: str, version: int, values: tuple[Any, ...]) -> bytes:
    """The body of a message; `values` in wire order."""
    return _write_fields(_split(LAYOUTS[key, direction, version]), values)


def decode(key: int, direction: str, version: int, data: bytes) -> tuple[Any, ...]:
    """The values of a message's body in wire order; the bytes must be used up."""
    values, at = _read_fields(_split(LAYOUTS[key, direction, version]), data, 0)
    if at != len(data):
        raise ValueError(f"{len(data) - at} bytes left over")
    return values


def encode_request(key: int, version: int, correlation_id: int, client_id: str | None, body: bytes) -> bytes:
    """A whole frame: size, then the request header of the guide (lines 161-165), then the body."""
    head = _write_fields(
        ["key int16", "version int16", "correlation_id int32", "client_id string?"],
        (key, version, correlation_id, client_id),
    )
    return _int(len(head) + len(body), 4) + head + body


def encode_response(correlation_id: int, body: bytes) -> bytes:
    """A whole frame: size, then the response header of the guide (lines 173-174), then the body."""
    return _int(4 + len(body), 4) + _int(correlation_id, 4) + body


def _split(layout: str) -> list[str]:
    """The fields of a structure: cut at the commas that stand in no bracket."""
    fields, depth, current = [], 0, ""
    for letter in layout:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth == 0:
            fields.append(current.strip())
            current = ""
        else:
            current += letter
    return [*fields, current.strip()] if current.strip() else fields


def _type_of(field: str) -> str:
    """What stands behind the name; an element of an array of plain values has no name."""
    return field.partition(" ")[2] if " " in field.partition("[")[0] else field


def _int(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big", signed=True)


def _write_fields(fields: list[str], values: tuple[Any, ...]) -> bytes:
    if len(fields) != len(values):
        raise ValueError(f"{len(values)} values for {len(fields)} fields")
    return b"".join(_write(_type_of(field), value) for field, value in zip(fields, values, strict=True))


def _write(kind: str, value: Any) -> bytes:
    if kind in _INTS:
        return _int(value, _INTS[kind])
    if kind == "bool":
        return b"\x01" if value else b"\x00"
    if kind.startswith("["):
        return _write_array(kind, value)
    size = 2 if kind.startswith("string") else 4
    if value is None:
        if not kind.endswith("?"):
            raise ValueError(f"None in a {kind}")
        return _int(-1, size)
    data = value.encode() if kind.startswith("string") else value
    return _int(len(data), size) + data


def _write_array(kind: str, value: Any) -> bytes:
    if value is None:
        if not kind.endswith("?"):
            raise ValueError("None in an array that is not nullable")
        return _int(-1, 4)
    fields = _split(kind.rstrip("?")[1:-1])
    if fields[0] in (*_INTS, "string"):
        return _int(len(value), 4) + b"".join(_write(fields[0], item) for item in value)
    return _int(len(value), 4) + b"".join(_write_fields(fields, item) for item in value)


def _read_fields(fields: list[str], data: bytes, at: int) -> tuple[tuple[Any, ...], int]:
    values = []
    for field in fields:
        value, at = _read(_type_of(field), data, at)
        values.append(value)
    return tuple(values), at


def _take_int(data: bytes, at: int, size: int) -> tuple[int, int]:
    if at + size > len(data):
        raise ValueError(f"cut off at {at}")
    return int.from_bytes(data[at : at + size], "big", signed=True), at + size


def _read(kind: str, data: bytes, at: int) -> tuple[Any, int]:
    if kind in _INTS:
        return _take_int(data, at, _INTS[kind])
    if kind == "bool":
        value, at = _take_int(data, at, 1)
        return value != 0, at
    if kind.startswith("["):
        return _read_array(kind, data, at)
    size, at = _take_int(data, at, 2 if kind.startswith("string") else 4)
    if size == -1 and kind.endswith("?"):
        return None, at
    if size < 0 or at + size > len(data):
        raise ValueError(f"a length of {size} at {at}")
    content = data[at : at + size]
    return content.decode() if kind.startswith("string") else content, at + size


def _read_array(kind: str, data: bytes, at: int) -> tuple[Any, int]:
    count, at = _take_int(data, at, 4)
    if count == -1 and kind.endswith("?"):
        return None, at
    if count < 0:
        raise ValueError(f"a count of {count} at {at}")
    fields = _split(kind.rstrip("?")[1:-1])
    plain = fields[0] in (*_INTS, "string")
    items = []
    for _ in range(count):
        item, at = _read(fields[0], data, at) if plain else _read_fields(fields, data, at)
        items.append(item)
    return items, at
