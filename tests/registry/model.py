"""What a schema registry remembers and answers, by Confluent's documentation of its interface. No I/O, no kwire.

Error codes: 40401 subject, 40402 version, 40403 schema not found; 40404, 40405 soft deletes; 40408 no compatibility of
its own; 409 incompatible; 42201 invalid schema; 42202 invalid version; 42203 invalid compatibility; 42206 referenced.
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import Any

LEVELS = {f"{way}{how}" for way in ("BACKWARD", "FORWARD", "FULL") for how in ("", "_TRANSITIVE")} | {"NONE"}
PROMOTIONS = {
    "int": {"long", "float", "double"},
    "long": {"float", "double"},
    "float": {"double"},
    "string": {"bytes"},
    "bytes": {"string"},
}
Query = dict[str, bool]


class Refusal(Exception):  # noqa: N818 - an answer, not a fault
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


@dataclass(frozen=True)
class Entry:
    """A schema, which has one id in all subjects."""

    id: int
    guid: str
    text: str
    kind: str
    references: tuple[tuple[str, str, int], ...]

    def shown(self) -> dict[str, Any]:
        shown: dict[str, Any] = {"schema": self.text, "guid": self.guid}
        if self.kind != "AVRO":
            shown["schemaType"] = self.kind
        if self.references:
            shown["references"] = [
                {"name": name, "subject": subject, "version": version} for name, subject, version in self.references
            ]
        return shown


@dataclass
class Subject:
    versions: dict[int, Entry] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)
    compatibility: str | None = None

    def live(self, *, deleted: bool = False) -> list[int]:
        return [each for each in self.versions if deleted or each not in self.deleted]


class RegistryModel:
    def __init__(self) -> None:
        self.subjects: dict[str, Subject] = {}
        self.entries: dict[tuple[str, str, tuple[tuple[str, str, int], ...]], Entry] = {}
        self.compatibility = "BACKWARD"

    def answer(self, method: str, path: list[str], query: Query, body: Any, prefix: str = "") -> Any:
        match method, path:
            case "GET", ["schemas", ("ids" | "guids") as by, key]:
                return self._entry(by, key).shown()
            case "GET", ["subjects"]:
                return [each for each in self.subjects if each.startswith(prefix) and self._has(each, query)]
            case "GET", ["subjects", subject, "versions"]:
                return self._subject(subject, query).live(deleted=query.get("deleted", False))
            case "POST", ["subjects", subject, "versions"]:
                return self._register(subject, body, query)
            case "GET", ["subjects", subject, "versions", version]:
                return self._version(subject, version, query)
            case "POST", ["subjects", subject]:
                return self._lookup(subject, body, query)
            case "DELETE", ["subjects", subject]:
                return self._delete_subject(subject, query)
            case "DELETE", ["subjects", subject, "versions", version]:
                return self._delete_version(subject, version, query)
            case "POST", ["compatibility", "subjects", subject, "versions", *version]:
                fits = self._is_compatible(subject, body, query, *version)
                reasons = [] if fits else [f"the reader's schema lacks a default, as {subject} needs it"]
                return {"is_compatible": fits, **({"messages": reasons} if query.get("verbose") else {})}
            case "GET" | "PUT", ["config", *subject]:
                return self._config(method, query, body, *subject)
        raise Refusal(404, 404, "HTTP 404 Not Found")

    # --- schemas ---

    def _entry(self, by: str, key: str) -> Entry:
        for entry in self.entries.values():
            if key == (str(entry.id) if by == "ids" else entry.guid):
                return entry
        raise Refusal(404, 40403, f"Schema {key} not found")

    def _parsed(self, body: Any, query: Query) -> tuple[str, str, tuple[tuple[str, str, int], ...]]:
        """A schema as it is compared: without white space, and with sorted properties if it is to be normalized."""
        text, kind = body["schema"], body.get("schemaType", "AVRO")
        if kind in ("AVRO", "JSON"):
            try:
                parsed = json.loads(text)
            except ValueError as fault:
                raise Refusal(422, 42201, f"Invalid schema: {fault}") from None
            text = json.dumps(parsed, separators=(",", ":"), sort_keys=query.get("normalize", False))
        references = tuple((each["name"], each["subject"], each["version"]) for each in body.get("references") or ())
        for _, subject, version in references:
            if version not in self.subjects.get(subject, Subject()).versions:
                raise Refusal(422, 42201, f"Invalid schema: no reference found for {subject} version {version}")
        return text, kind, references

    # --- subjects ---

    def _has(self, subject: str, query: Query) -> bool:
        return bool(self.subjects[subject].live(deleted=query.get("deleted", False)))

    def _subject(self, name: str, query: Query) -> Subject:
        if name not in self.subjects or not self._has(name, query):
            raise Refusal(404, 40401, f"Subject '{name}' not found.")
        return self.subjects[name]

    def _place(self, subject: str, version: str, query: Query) -> int:
        versions = self._subject(subject, query).live(deleted=query.get("deleted", False))
        if version == "latest":
            return max(versions)
        if not version.isdigit() or not 0 < int(version) < 2**31:
            raise Refusal(422, 42202, f"The specified version '{version}' is not a valid version id.")
        if int(version) not in versions:
            raise Refusal(404, 40402, f"Version {version} not found.")
        return int(version)

    def _shown(self, subject: str, version: int) -> dict[str, Any]:
        entry = self.subjects[subject].versions[version]
        return {"subject": subject, "version": version, "id": entry.id, **entry.shown()}

    def _version(self, subject: str, version: str, query: Query) -> dict[str, Any]:
        return self._shown(subject, self._place(subject, version, query))

    def _lookup(self, name: str, body: Any, query: Query) -> dict[str, Any]:
        subject, parsed = self._subject(name, query), self._parsed(body, query)
        for version in subject.live():
            entry = subject.versions[version]
            if (entry.text, entry.kind, entry.references) == parsed:
                return self._shown(name, version)
        raise Refusal(404, 40403, "Schema not found")

    def _register(self, name: str, body: Any, query: Query) -> dict[str, Any]:
        parsed = self._parsed(body, query)
        subject = self.subjects.setdefault(name, Subject())
        for version in subject.live():
            if (known := subject.versions[version]) and (known.text, known.kind, known.references) == parsed:
                return self._shown(name, version)
        if not self._fits(subject, parsed, None):
            raise Refusal(409, 409, f"Schema being registered is incompatible with an earlier schema for '{name}'")
        guid = str(uuid.uuid5(uuid.NAMESPACE_OID, repr(parsed)))
        entry = self.entries.setdefault(parsed, Entry(len(self.entries) + 1, guid, *parsed))
        version = max(subject.versions, default=0) + 1
        subject.versions[version] = entry
        return self._shown(name, version)

    def _delete_subject(self, name: str, query: Query) -> list[int]:
        permanent = query.get("permanent", False)
        subject = self._subject(name, {"deleted": permanent})
        for version in list(subject.versions):
            self._check_referenced(name, version)
        if permanent and subject.live():
            raise Refusal(404, 40405, f"Subject '{name}' was not deleted first before being permanently deleted")
        versions = subject.live(deleted=permanent)
        subject.deleted |= set(versions)
        if permanent:
            del self.subjects[name]
        return versions

    def _delete_version(self, name: str, version: str, query: Query) -> int:
        permanent = query.get("permanent", False)
        place = self._place(name, version, {"deleted": permanent})
        self._check_referenced(name, place)
        subject = self.subjects[name]
        if permanent and place not in subject.deleted:
            raise Refusal(404, 40407, f"Subject '{name}' Version {version} was not deleted first")
        subject.deleted.add(place)
        if permanent:
            del subject.versions[place]
        return place

    def _check_referenced(self, name: str, version: int) -> None:
        for subject in self.subjects.values():
            for live in subject.live():
                if any((at, of) == (name, version) for _, at, of in subject.versions[live].references):
                    raise Refusal(422, 42206, "One or more references exist to the schema")

    # --- compatibility ---

    def _config(self, method: str, query: Query, body: Any, name: str | None = None) -> dict[str, str]:
        if method == "PUT":
            level = body["compatibility"]
            if level not in LEVELS:
                raise Refusal(422, 42203, "Invalid compatibility level. Valid values are none, backward, forward ...")
            if name is None:
                self.compatibility = level
            else:
                self.subjects.setdefault(name, Subject()).compatibility = level
            return {"compatibility": level}
        own = None if name is None else self.subjects.get(name, Subject()).compatibility
        if name is not None and own is None and not query.get("defaultToGlobal"):
            raise Refusal(404, 40408, f"Subject '{name}' does not have subject-level compatibility configured")
        return {"compatibilityLevel": own or self.compatibility}

    def _is_compatible(self, name: str, body: Any, query: Query, version: str | None = None) -> bool:
        parsed = self._parsed(body, query)
        subject = self.subjects.get(name, Subject())
        if version is None or (version == "latest" and not subject.live()):
            return self._fits(subject, parsed, None)
        return self._fits(subject, parsed, self._place(name, version, query))

    def _fits(self, subject: Subject, parsed: tuple[str, str, Any], version: int | None) -> bool:
        level = subject.compatibility or self.compatibility
        versions = subject.live() if version is None else [version]
        if not versions or level == "NONE" or parsed[1] != "AVRO":
            return True
        if version is None and not level.endswith("_TRANSITIVE"):
            versions = [max(versions)]
        new = json.loads(parsed[0])
        for each in versions:
            old = json.loads(subject.versions[each].text)
            if not level.startswith("FORWARD") and not can_read(new, old):
                return False
            if not level.startswith("BACKWARD") and not can_read(old, new):
                return False
        return True


def can_read(reader: Any, writer: Any) -> bool:
    """Whether values of one Avro schema can be read by another: records, unions and primitives."""
    if isinstance(writer, list):
        return all(can_read(reader, branch) for branch in writer)
    if isinstance(reader, list):
        return any(can_read(branch, writer) for branch in reader)
    kinds = [each["type"] if isinstance(each, dict) else each for each in (reader, writer)]
    if kinds[0] != kinds[1]:
        return kinds[0] in PROMOTIONS.get(kinds[1], ()) if isinstance(kinds[1], str) else False
    if kinds[0] != "record":
        return True
    written = {each["name"]: each["type"] for each in writer["fields"]}
    return reader["name"] == writer["name"] and all(
        can_read(each["type"], written[each["name"]]) if each["name"] in written else "default" in each
        for each in reader["fields"]
    )
