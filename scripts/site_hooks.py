"""Hooks of mkdocs for `make site`: pages that stand elsewhere in the repository, links that leave the site, and nothing
from other hosts.

README files and programs stay where they are. Those of PAGES become pages of the site; a link to any other file of the
repository becomes its path, since the site has no copy of it. A link to nothing stays as it is, and fails the build.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scripts import site_search

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "ROADMAP.md": "roadmap.md",
    "SECURITY.md": "vulnerabilities.md",
    "benchmarks/README.md": "benchmarks.md",
    "examples/README.md": "examples.md",
    "examples/spark/README.md": "spark-example.md",
}
"""Files outside of docs/, and where they are on the site."""

_SPEED = "<!-- speed -->"
"""Where a page has the table of speeds, which `make bench` writes into the README."""
_FENCE = re.compile(r"^ *```.*?^ *```\n", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>(?:[^\[\]]|\[[^\]]*\])*)\]\((?P<target>[^)\s]+)\)")
_FOREIGN = re.compile(
    r"""<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)=["']?(?:https?:)?//[^>]*>|url\(["']?https?:"""
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that stand elsewhere."""
    from mkdocs.structure.files import File

    for source, page in PAGES.items():
        if not (DOCS / page).exists():
            files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page with the table of speeds, and with its links as they have to be on the site; code stays as it is."""
    page.meta.setdefault("search", {"boost": site_search.boost_of(page.file.src_uri)})
    if _SPEED in markdown:
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        markdown = markdown.replace(_SPEED, readme.partition("<!-- speed:")[2].partition("-->")[2].partition("<!--")[0])
    place = next((path for path, name in PAGES.items() if name == page.file.src_uri), f"docs/{page.file.src_uri}")
    return with_site_links(markdown, place, page.file.src_uri)


def on_page_content(html: str, *, page: Any, **_: Any) -> str:
    return site_search.with_row_ids(page.url, html)


def with_site_links(markdown: str, place: str, page: str) -> str:
    """The text of a file of the repository, whose name on the site is `page`."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_LINK.sub(lambda found: _link(found, place, page), markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(lambda found: _link(found, place, page), markdown[end:])])


def _link(found: re.Match[str], place: str, page: str) -> str:
    path, hash_, anchor = found["target"].partition("#")
    if not path or "//" in path or path.startswith("mailto:"):
        return found[0]
    named = os.path.normpath(os.path.join(os.path.dirname(place), path))
    name = PAGES.get(named, named.removeprefix("docs/") if named.startswith("docs/") else None)
    if name is not None:
        target = os.path.relpath(name, os.path.dirname(page) or ".")
        return f"{found['picture']}[{found['text']}]({target}{hash_}{anchor})"
    return _path_of(found["text"], named) if (ROOT / named).exists() else found[0]


def _path_of(text: str, named: str) -> str:
    """What is left of a link to a file that is not on the site."""
    plain = text.strip("`")
    return text if plain.rstrip("/") in named else f"{text} (`{named}`)"


def on_post_build(config: MkDocsConfig) -> None:
    """Completes the search index. Fails if a page would fetch anything from another host."""
    from mkdocs.exceptions import PluginError

    site_search.extend_index(Path(config.site_dir))
    found = list(foreign_assets(Path(config.site_dir)))
    if found:
        raise PluginError("\n".join(["these are fetched from other hosts:", *found]))


def foreign_assets(site: Path) -> Iterable[str]:
    """What pages and style sheets load that is not on the site, with where."""
    for path in sorted([*site.rglob("*.html"), *site.rglob("*.css")]):
        for asset in _FOREIGN.finditer(path.read_text(encoding="utf-8")):
            if 'rel="canonical"' not in asset[0]:
                yield f"{path.relative_to(site)}: {asset[0][:200]}"
