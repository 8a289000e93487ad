"""The hook of MkDocs: it adds the pages that are made when the site is built, and mends links.

Nothing that it makes is written into docs/. The same files always give the same pages.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from machine_pages import (
    fabric_names,
    machine_pages,
    machine_title,
    site_names,
    with_page_of_each,
)
from make_page import PAGE, make_page
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from page_html import with_rule_links, with_whole_options, with_wrapped_commands
from reference_pages import key_groups, reference_pages
from repository_pages import repository_pages, with_site_links
from rule_pages import class_pages, path_of_class, path_of_rule, rule_groups, rule_pages
from run_blocks import with_outputs

from jobgen.cli.app import COMMANDS
from jobgen.diagnosis.classes import classes


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, where it has their names in angle brackets."""
    lists = {
        "<rules>": _rule_navigation(),
        "<classes of failure>": [
            {each.code: path_of_class(each.code)} for each in classes().values()
        ],
        "<public sites>": [{machine_title(name): f"{name}.md"} for name in site_names()],
        "<fabrics>": [{name: f"fabrics/{name}.md"} for name in fabric_names()],
        "<commands>": [
            {heading: [{f"jobgen {name}": f"reference/{name}.md"} for name in names]}
            for heading, names in COMMANDS.items()
        ],
        "<keys>": [{name: f"reference/keys-{name}.md"} for name in key_groups()],
    }
    config.nav = _filled(config.nav, lists)
    return config


def _rule_navigation() -> list[Any]:
    return [
        {group: [{_plain(f"{rule.code} {rule.title}"): path_of_rule(rule)} for rule in members]}
        for group, members in rule_groups().items()
    ]


def _plain(title: str) -> str:
    """A title for the navigation, which has no code."""
    return title.replace("`", "")


def _filled(items: Any, lists: dict[str, list[Any]]) -> Any:
    """The navigation with a list in the place of each name in angle brackets."""
    if isinstance(items, dict):
        return {name: _filled(each, lists) for name, each in items.items()}
    if not isinstance(items, list):
        return items
    parts = (lists[item] if str(item) in lists else [_filled(item, lists)] for item in items)
    return [item for part in parts for item in part]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made from the package, those of the repository's root, and the folder make/."""
    parts = (rule_pages(), class_pages(), machine_pages(), reference_pages(), repository_pages())
    for pages in parts:
        for path, text in pages.items():
            files.append(File.generated(config, path, content=text))
    for path, data in make_page().items():
        files.append(File.generated(config, path, content=data))
    return files


def on_nav(nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
    """Let "previous" and "next" pass by the page that makes scripts: it has neither."""
    page = next(each for each in nav.pages if each.url == PAGE)
    before, after = page.previous_page, page.next_page
    before.next_page, after.previous_page = after, before
    return nav


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text of a page for the site; the start page has the whole width, and real outputs."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
        markdown = with_page_of_each(with_outputs(markdown))
    if page.file.src_uri == "sites.md":
        page.meta["hide"] = ["toc"]  # its table needs the room
        markdown = with_page_of_each(markdown)
    return with_site_links(markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The HTML of a page, with a link for each rule that it names."""
    linked = with_rule_links(html, "../" * page.url.count("/"))
    return with_wrapped_commands(with_whole_options(linked))


def on_post_build(config: MkDocsConfig) -> None:
    """Remove the map for search engines: it needs an address, and has the day of the build."""
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        Path(config.site_dir, name).unlink(missing_ok=True)
