"""What runs in continuous integration: pinned to commits, with the least rights, and by commands that are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.snippets import ROOT

FOLDER = ROOT / ".github"
WORKFLOWS = sorted((FOLDER / "workflows").glob("*.yml"))
USES = re.compile(r"^\s*-?\s*uses: (\S+)(.*)$", re.MULTILINE)
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
VERSION = re.compile(r"  # v\d+\.\d+\.\d+")
OURS = re.compile(r"\./\.github/workflows/[\w-]+\.yml")
# What may be said by who opens a pull request, or runs a workflow: to a shell only by the environment.
OF_OTHERS = re.compile(r"\$\{\{[^}]*\b(github\.event\.|github\.head_ref|github\.ref_name|inputs\.)")
WRITERS = {
    ("publish.yml", "publish"): {"id-token", "attestations"},
    ("codeql.yml", "analyze"): {"security-events"},
}

each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def loaded(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return dict(loaded(path)["jobs"])


def steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in jobs(path).values():
        yield from job.get("steps", [])


def test_the_workflows_are_found() -> None:
    assert {"ci.yml", "nightly.yml", "fuzz.yml", "wheels.yml", "publish.yml", "codeql.yml"} <= {
        path.name for path in WORKFLOWS
    }


@each_workflow
def test_each_action_is_a_commit_with_its_version_beside_it(path: Path) -> None:
    for action, comment in USES.findall(path.read_text(encoding="utf-8")):
        if OURS.fullmatch(action):
            assert (ROOT / action).exists(), action
        else:
            assert PINNED.fullmatch(action), f"{path.name}: {action}"
            assert VERSION.fullmatch(comment), f"{path.name}: no version beside {action}"


def test_one_action_has_one_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in WORKFLOWS:
        for action, comment in USES.findall(path.read_text(encoding="utf-8")):
            owner_and_name, _, commit = action.partition("@")
            pins.setdefault("/".join(owner_and_name.split("/")[:2]), set()).add(commit + comment)
    assert {action: found for action, found in pins.items() if len(found) > 1} == {}


@each_workflow
def test_a_workflow_may_read_and_the_jobs_that_may_write_are_known(path: Path) -> None:
    assert loaded(path)["permissions"] == {"contents": "read"}
    for name, job in jobs(path).items():
        rights = job.get("permissions", {})
        assert {right for right, level in rights.items() if level == "write"} == WRITERS.get((path.name, name), set())


@each_workflow
def test_a_checkout_leaves_no_credentials_behind(path: Path) -> None:
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@each_workflow
def test_a_job_ends_in_its_time(path: Path) -> None:
    for name, job in jobs(path).items():
        assert "uses" in job or job["timeout-minutes"] <= 120, name


@each_workflow
def test_a_shell_is_given_what_others_say_by_its_environment_alone(path: Path) -> None:
    for step in steps(path):
        assert not OF_OTHERS.search(step.get("run", "")), step["run"]


@each_workflow
def test_pull_requests_of_others_run_without_rights(path: Path) -> None:
    events = loaded(path)[True]  # YAML 1.1 reads the key `on` so
    assert not {"pull_request_target", "workflow_run", "issue_comment"} & set(events)


def test_the_commands_that_workflows_run_are_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named: set[str] = set()
    for path in WORKFLOWS:
        for step in steps(path):
            named |= set(re.findall(r"^make ([a-z-]+)", step.get("run", ""), re.MULTILINE))
        for job in jobs(path).values():
            named |= set(job.get("strategy", {}).get("matrix", {}).get("target", []))
    assert {"check", "test", "fuzz", "test-all"} <= named
    assert named <= targets


def test_what_is_published_was_built_and_tried_by_the_wheels_workflow() -> None:
    published = jobs(FOLDER / "workflows" / "publish.yml")
    assert published["packages"]["uses"] == "./.github/workflows/wheels.yml"
    assert published["publish"]["needs"] == "packages"
    assert not any("run" in step for step in published["publish"]["steps"])


@pytest.mark.parametrize("path", [FOLDER / "dependabot.yml", *FOLDER.glob("ISSUE_TEMPLATE/*.yml")])
def test_what_else_lies_beside_the_workflows_is_yaml(path: Path) -> None:
    assert loaded(path)


def test_new_commits_of_actions_are_proposed() -> None:
    updates = loaded(FOLDER / "dependabot.yml")["updates"]
    assert {"github-actions", "pip"} == {update["package-ecosystem"] for update in updates}
