"""The site in a browser: it fits every width, logs no error, and asks no other host."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.browser import Tab, reason_to_skip, served
from tests.page_forms import packages_or_skip
from tests.site_build import built_site

pytestmark = pytest.mark.slow
SAMPLE = ["index", "rules/jg101", "sites/lumi-g", "reference/options", "failures", "coming-from"]
# Boxes that are wider than the screen, and that no box around them scrolls or hides.
WIDE = """width => [...document.querySelectorAll(".md-content *")].filter(box => {
  if (box.getBoundingClientRect().right <= width + 1) return false;
  for (let each = box; each && each !== document.body; each = each.parentElement)
    if (getComputedStyle(each).overflowX !== "visible") return false;
  return true;
}).map(box => box.outerHTML.slice(0, 200))"""
# The least contrast of what is written in the page (WCAG's ratio), and where that is.
CONTRAST = """(() => {
  const rgba = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const over = (top, below) => {
    const a = top[3] ?? 1;
    return [0, 1, 2].map(i => top[i] * a + below[i] * (1 - a));
  };
  const paper = box => {
    if (!box) return [255, 255, 255];
    return over(rgba(getComputedStyle(box).backgroundColor), paper(box.parentElement));
  };
  const light = colour => [0.2126, 0.7152, 0.0722].reduce((sum, part, i) => {
    const c = colour[i] / 255;
    return sum + part * (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  }, 0);
  let least = [99, ""];
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const box = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !box.offsetParent || box.closest(".headerlink")) continue;
    const back = paper(box), front = over(rgba(getComputedStyle(box).color), back);
    const [high, low] = [light(front), light(back)].sort((x, y) => y - x);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < least[0]) least = [ratio, box.outerHTML.slice(0, 200)];
  }
  return least;
})()"""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if reason := reason_to_skip():
        pytest.skip(reason)
    return built_site(tmp_path_factory)


def requests_elsewhere(tab: Tab, host: str = "") -> list[str]:
    """What was requested from another host than the site's; `data:` is in the page itself."""
    addresses = [(url, urlsplit(url)) for url in tab.requests]
    return [
        url
        for url, part in addresses
        if part.scheme not in ("data", "blob") and part.netloc != host
    ]


def wide_boxes(tab: Tab, width: int) -> list[str]:
    """The boxes that are wider than the screen, as HTML."""
    boxes: list[str] = tab.value(f"({WIDE})({width})")
    return boxes


EVERY_PAGE = pytest.param(1, id="all", marks=pytest.mark.thorough)


@pytest.mark.thorough
@pytest.mark.parametrize("step", [pytest.param(20, id="some"), EVERY_PAGE])
def test_a_page_fits_a_phone_and_logs_no_error(site: Path, tab: Tab, step: int) -> None:
    """All pages that people write, and each twentieth of those that are made from the package."""
    tab.screen(360, 780, phone=True)
    pages = [*site.glob("*.html"), *sorted(site.glob("*/*.html"))[::step]]
    wide = {}
    for page in pages:
        # These two need a server: one names its files from its root, one has modules.
        if page.name != "404.html" and page.parent.name != "make":
            tab.open(page.as_uri())
            if tab.value("document.documentElement.scrollWidth") > 360 or wide_boxes(tab, 360):
                wide[str(page.relative_to(site))] = wide_boxes(tab, 360)
    assert wide == {}
    assert tab.console == []
    assert len(tab.requests) > 5 * len(pages)
    assert requests_elsewhere(tab) == []


@pytest.mark.parametrize("width", [360, 1280])
def test_the_button_that_copies_covers_no_code(site: Path, tab: Tab, width: int) -> None:
    """A reader would miss the end of a command, and not see that there is more."""
    tab.screen(width, 780, phone=width == 360)
    tab.open((site / "failures.html").as_uri())
    # The distance of each button from its code, which scrolls.
    room = tab.value("""[...document.querySelectorAll("nav.md-code__nav")].map(button =>
      button.getBoundingClientRect().left
        - button.closest("pre").querySelector("code").getBoundingClientRect().right)""")
    assert len(room) > 10
    assert min(room) >= 0


@pytest.mark.parametrize("width", [360, 1280])
def test_a_command_is_seen_whole(site: Path, tab: Tab, width: int) -> None:
    tab.screen(width, 780, phone=width == 360)
    for name in ("index", "coming-from", "sites/lumi-g"):
        tab.open((site / f"{name}.html").as_uri())
        hidden = tab.value("""[...document.querySelectorAll(".command code")].map(code =>
          code.scrollWidth - code.clientWidth)""")
        assert hidden, name
        assert max(hidden) <= 0, name


@pytest.mark.thorough
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_has_contrast_and_fits_at_each_width(site: Path, tab: Tab, dark: bool) -> None:
    for name in SAMPLE:
        for width in (768, 1280):
            tab.screen(width, 900, dark)
            tab.open((site / f"{name}.html").as_uri())
            assert wide_boxes(tab, width) == [], name
            ratio, place = tab.value(CONTRAST)
            assert ratio >= 4.5, f"{name}: {place}"


def test_colours_follow_the_system_until_somebody_chooses(site: Path, tab: Tab) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    page = (site / "index.html").as_uri()
    tab.screen(1280, 900)
    tab.open(page)
    light = tab.value(paper)
    tab.screen(1280, 900, dark=True)
    tab.open(page)
    dark = tab.value(paper)
    assert light == "rgb(255, 255, 255)"
    assert dark != light
    for expected in (light, dark):
        # The choices are buttons of one group, of which the next one's label is shown.
        tab.value(
            "document.querySelector('form[data-md-component=palette] label:not([hidden])').click()"
        )
        assert tab.value(paper) == expected
        tab.open(page)
        assert tab.value(paper) == expected


@pytest.mark.parametrize("way", ["folder", "server"])
def test_search_finds_words_in_the_site_itself(site: Path, tab: Tab, way: str) -> None:
    tab.screen(1280, 900)
    with served(site) as address:
        host = urlsplit(address).netloc if way == "server" else ""
        tab.open(f"{address}index.html" if host else (site / "index.html").as_uri())
        found = tab.value("""new Promise(resolve => {
          const query = document.querySelector("[data-md-component=search-query]");
          const results = () => [...document.querySelectorAll(".md-search-result__link")];
          query.focus();
          const timer = setInterval(() => {
            query.value = "rendezvous id is different";
            query.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
            if (results().length) {
              clearInterval(timer);
              resolve(results().map(each => each.getAttribute("href")));
            }
          }, 200);
        })""")
        assert any("rules/jg104.html" in link for link in found)
        assert tab.console == []
        assert requests_elsewhere(tab, host) == []


def test_a_keyboard_reaches_the_text_at_once(site: Path, tab: Tab) -> None:
    tab.screen(1280, 900)
    tab.open((site / "failures.html").as_uri())
    tab.tab.keyboard.press("Tab")
    focus = "document.activeElement"
    assert tab.value(f"{focus}.className").split()[0] == "md-skip"
    tab.value("Promise.all(document.getAnimations().map(each => each.finished)).then(() => 1)")
    assert tab.value(f"getComputedStyle({focus}).opacity") == "1"
    tab.tab.keyboard.press("Enter")
    assert tab.value("location.hash") == "#when-a-job-fails"
    tab.tab.keyboard.press("Tab")
    assert tab.value(f"Boolean({focus}.closest('article'))")
    assert tab.value(f"getComputedStyle({focus}).outlineStyle") != "none"


def test_it_can_be_read_without_scripts(site: Path, chromium: Any) -> None:
    tab = Tab(chromium.new_context(java_script_enabled=False))
    for width in (360, 1280):
        tab.screen(width, 780, phone=width == 360)
        for name in SAMPLE:
            tab.open((site / f"{name}.html").as_uri())
            assert tab.value("document.documentElement.scrollWidth") == width, name
            assert tab.value("document.querySelector('article').innerText.length") > 500
    links = tab.value("[...document.querySelectorAll('nav a')].filter(a => a.offsetParent).length")
    assert links > 20
    assert tab.console == []


def test_the_counter_proof_a_request_and_an_error_are_noticed(site: Path, tab: Tab) -> None:
    page = site.parent / "wrong.html"
    text = "<p><script src='http://127.0.0.1:9/x.js'></script><script>missing()</script>"
    wide = "<div class=md-content><p style='width:2000px'>wide</p></div>"
    page.write_text(f"<!DOCTYPE html><title>wrong</title>{text}{wide}", encoding="utf-8")
    tab.screen(360, 780, phone=True)
    tab.open(page.as_uri())
    assert requests_elsewhere(tab) == ["http://127.0.0.1:9/x.js"]
    assert any("missing is not defined" in error for error in tab.console)
    assert len(wide_boxes(tab, 360)) == 1


def test_the_button_of_a_site_fills_the_form_of_the_page(site: Path, tab: Tab) -> None:
    packages_or_skip()
    tab.screen(1280, 900)
    with served(site) as address:
        tab.open(f"{address}sites/lumi-g.html")
        tab.tab.get_by_text("Make a script for this cluster").click()
        tab.tab.get_by_text("jobgen sbatch --profile sites/lumi-g").first.wait_for()
        assert requests_elsewhere(tab, urlsplit(address).netloc) == []
