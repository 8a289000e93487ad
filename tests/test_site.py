"""The built site: it is the same each time, its links lead somewhere, and nothing is elsewhere."""

from __future__ import annotations

import filecmp
import html
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobgen.cli.app import NAMES
from jobgen.diagnosis.classes import classes
from jobgen.generator import find_profiles
from jobgen.lint.rules import rules
from jobgen.profiles.model import ROOT as PROFILE
from jobgen.profiles.records import keys_of
from jobgen.sources.table import sourced_values
from tests.page_blocks import Block, parts_of
from tests.page_forms import packages_or_skip
from tests.site_build import (
    ROOT,
    build,
    built_site,
    hook,
    html_of,
    skip_without_packages,
    styles_of,
)

pytest.importorskip("pymdownx", reason="no pymdownx: pip install '.[docs]'")
pytest.importorskip("tree_sitter_bash")
pytestmark = pytest.mark.slow
# The pages that people write, with their names on the site.
PAGES = {page: page.name for page in sorted((ROOT / "docs").glob("*.md"))}
PAGES |= {ROOT / file: page for file, page in hook("repository_pages").FILES.items()}
PARTS = "h1 h2 h3 h4 ul ol li table tr td pre em strong".split()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built_site(tmp_path_factory)


def test_it_is_built_without_a_warning(site: Path) -> None:
    assert "WARNING" not in (site.parent / "site.log").read_text(encoding="utf-8")


def files_of(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


@pytest.mark.thorough
def test_it_is_the_same_each_time(site: Path, tmp_path: Path) -> None:
    assert build(tmp_path / "again").endswith("exit code 0\n")
    files = files_of(site)
    assert files_of(tmp_path / "again") == files
    _, different, errors = filecmp.cmpfiles(site, tmp_path / "again", files, shallow=False)
    assert (different, errors) == ([], [])


def test_every_link_leads_to_a_page_and_its_anchor(site: Path) -> None:
    pages = [page for page in site.rglob("*.html") if page.name != "404.html"]
    assert len(pages) > 150
    links = [(page, link) for page in pages for link in html_of(page).links]
    assert [f"{page.name}: {link}" for page, link in links if not leads_somewhere(page, link)] == []
    page = site / "linting.html"
    assert "rules/jg201.html" in html_of(page).links  # each code of a rule in a text is a link
    wrong_form = "make/index.html#profile=sites%2Fmissing"
    for wrong in ("missing.html", "failures.html#missing", "#missing", "https://host", wrong_form):
        assert not leads_somewhere(page, wrong)


def leads_somewhere(page: Path, link: str) -> bool:
    """Whether a link has a page and its anchor; another host's has a name, and is not asked."""
    address = urlsplit(link)
    if address.scheme:
        return address.scheme in {"https", "http"} and "." in address.netloc
    target = (page.parent / unquote(address.path)).resolve() if address.path else page
    if not target.is_file():
        return False
    if target.name == "index.html" and target.parent.name == "make":
        form = dict(parse_qsl(address.fragment))  # the page fills its form with it
        return not form or (ROOT / f"profiles/{form.get('profile')}.yaml").is_file()
    return not address.fragment or unquote(address.fragment) in html_of(target).ids


def test_pages_lead_to_the_one_that_makes_a_script(site: Path, tmp_path: Path) -> None:
    """By its path from theirs: then it does not matter where the site is served."""
    start = html_of(site / "index.html").links
    assert start.count("make/index.html") == 3  # its text, and twice its navigation
    assert html_of(site / "rules/jg101.html").links.count("../make/index.html") == 2
    without = hook("make_page").make_page(tmp_path)
    (tmp_path / "index.html").write_bytes(without.pop("make/index.html"))
    (link,) = html_of(tmp_path / "index.html").links
    assert leads_somewhere(site / "make/index.html", link)
    assert without == {}
    packages_or_skip()
    assert (site / "make/python.zip").is_file()


@pytest.mark.parametrize("name", hook("machine_pages").site_names())
def test_a_site_leads_to_the_page_with_its_profile_chosen(site: Path, name: str) -> None:
    links = html_of(site / f"{name}.html").links
    assert f"{name}.html" in html_of(site / "sites.html").links  # its row of the table
    if find_profiles().load(name).profile.state == "retired":
        assert not any("index.html#profile=" in link for link in links)
        return
    assert links.count(f"../make/index.html#profile={quote(name, safe='')}") == 1
    assert "../sites.html" in links
    packages_or_skip()
    assert name in (site / "make/index.html").read_text(encoding="utf-8")


def test_a_page_has_the_source_of_each_value_and_the_differences(site: Path) -> None:
    links = html_of(site / "sites/lumi-g.html").links
    loader = find_profiles()
    rows = list(sourced_values(loader.load("sites/lumi-g"), loader))
    assert len([each for each in rows if each.link]) > 15
    for each in rows:
        assert not each.link or each.link in links
    text = (site / "sites/lumi-g.html").read_text(encoding="utf-8")
    assert "What differs from the site" in text
    assert "The machine has ended on 2026-08-31" in (site / "sites/mahti.html").read_text("utf-8")


def test_the_start_page_has_what_its_commands_write(site: Path) -> None:
    text = html.unescape(re.sub("<[^>]+>", "", (site / "index.html").read_text(encoding="utf-8")))
    outputs = [block for block in page_blocks("docs/index.md") if block.kind == "run"]
    assert len(outputs) >= 4
    for block in outputs:
        assert block.content in text, block.words
    assert "sites.html" in html_of(site / "index.html").links


def page_blocks(page: str) -> list[Block]:
    parts = parts_of((ROOT / page).read_text(encoding="utf-8"))
    return [part for part in parts if isinstance(part, Block)]


def test_the_build_runs_the_commands_of_the_start_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_packages()
    with_outputs = hook("run_blocks").with_outputs
    (tmp_path / "mine.yaml").write_text("scheduler: slurm\n", encoding="utf-8")
    monkeypatch.setenv("JOBGEN_PROFILES", str(tmp_path))
    page = "<!-- file: a.txt -->\n```bash\nb\n```\n<!-- run: {} -->\n```text\nold\n```\n"
    marks = "```{.text .message .output}\n"
    assert with_outputs(page.format("cat a.txt")).endswith(f"{marks}b\n```\n")
    assert f"{marks}1\n" in with_outputs(page.format("jobgen profiles list | grep -c '^  mi210 '"))
    for wrong in ("jobgen profiles show mine", "jobgen lint missing.sh"):
        with pytest.raises(Exception, match=r"exit code \d: jobgen"):
            with_outputs(page.format(wrong))


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    loads = [(page, load) for page in site.rglob("*.html") for load in html_of(page).loads]
    loads += styles_of(site)
    assert len(loads) > 1000
    wrong = []
    for file, load in loads:
        address = urlsplit(load)
        if address.scheme == "data" or file.name == "404.html":
            continue
        if address.scheme or address.netloc or not (file.parent / unquote(address.path)).exists():
            wrong.append(f"{file.name}: {load}")
    assert wrong == []


def test_what_is_loaded_by_404_is_in_the_site(site: Path) -> None:
    """It is shown at any address: so it names the site's files from the root."""
    for load in html_of(site / "404.html").loads:
        assert re.match("/[^/]", load)
        assert (site / load.lstrip("/")).exists(), load


def test_everything_that_can_be_looked_up_has_its_page(site: Path) -> None:
    pages = [f"rules/{code.lower()}" for code in rules()]
    pages += [f"failures/{code}" for code in classes()]
    pages += [f"reference/{name}" for name in NAMES]
    for folder in ("sites", "fabrics"):
        pages += [f"{folder}/{file.stem}" for file in (ROOT / f"profiles/{folder}").glob("*.yaml")]
    assert [page for page in pages if not (site / f"{page}.html").is_file()] == []
    options = {row.flags[-1].lstrip("-") for row in hook("option_effects").all_options()}
    assert options <= html_of(site / "reference/options.html").ids
    keys = {re.sub(r"\W", "-", key.path) for key in keys_of(PROFILE.cls)}
    assert keys <= {
        name for page in site.glob("reference/keys-*.html") for name in html_of(page).ids
    }


def page_on_site(site: Path, page: Path) -> Path:
    return (site / PAGES[page]).with_suffix(".html")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_the_parts_that_it_has_on_github(page: Path, site: Path) -> None:
    """MkDocs' Markdown differs in lists, tables and code: a page may use only what both read."""
    from markdown_it import MarkdownIt

    text = re.sub(r"<!--.*?-->\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    expected = MarkdownIt("commonmark").enable("table").render(text)
    counts = html_of(page_on_site(site, page)).counts
    for tag in PARTS:
        assert counts.get(tag, 0) == len(re.findall(f"<{tag}[ >]", expected)), tag


def test_the_profiles_of_who_builds_it_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_without_packages()
    machine_pages = hook("machine_pages").machine_pages
    pages = machine_pages()
    (tmp_path / "sites").mkdir()
    text = "scheduler: slurm\ndescription: my own\npartition: mine\n"
    (tmp_path / "sites/alps.yaml").write_text(text)
    monkeypatch.setenv("JOBGEN_PROFILES", str(tmp_path))
    assert machine_pages() == pages


def test_marks_for_the_tests_are_not_shown(site: Path) -> None:
    for page in PAGES:
        text = page_on_site(site, page).read_text(encoding="utf-8")
        assert not re.search("(<|&lt;)!-- (run|file|not run|table): ", text), page.name


@pytest.mark.parametrize(
    "text",
    [
        "Request `--gres=gpu:gh200:4`: it",
        "Set (`-e HF_HOME=…`, `-e TMPDIR=/x`), or `PYTORCH_ALLOC=expandable_segments:True`.",
        "`--set software.container.options='[--ipc=host]'` (`getopt_long(3)`, `sbatch(1)`)",
        '`torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` and `destroy_process_group()`',
        '`map_location="cpu"`; `src/slurm_opt.c`, `proc_args.c`, `a/run_ddp.sh` (`JOB_EXEC_…`)',
        "the rank(s) of node 1: a time such as 1:30:00, and x=y, e.g. in DIR/FILE (see below)",
    ],
)
def test_names_in_a_docstring_are_code_as_a_whole(text: str) -> None:
    assert hook("page_text").inline(text.replace("`", "")) == text


@given(st.text(st.sampled_from("ab1 -_*<>[]()#&|$=\\{}~^!.,:/+\"'"), min_size=1, max_size=40))
def test_text_of_a_docstring_stays_as_it_is(text: str) -> None:
    skip_without_packages()
    import markdown

    words = " ".join(f"x {text} x".split())
    shown = markdown.markdown(
        hook("page_text").inline(words), extensions=["attr_list", "sane_lists", "tables"]
    )
    assert html.unescape(re.sub("<[^>]+>", "", shown)) == words


@pytest.mark.parametrize("name", ["sites/vista", "sites/sherlock"])
def test_words_with_backticks_and_bars_are_on_the_page_as_in_the_document(name: str) -> None:
    skip_without_packages()
    import markdown

    loader = find_profiles()
    table = hook("machine_pages")._source_table(name)
    shown = markdown.markdown(table, extensions=["attr_list", "sane_lists", "tables"])
    text = html.unescape(re.sub("<[^>]+>", "", shown))
    words = [each.source.words for each in sourced_values(loader.load(name), loader) if each.link]
    assert any("`" in each for each in words)
    assert [each for each in words if each not in text] == []
