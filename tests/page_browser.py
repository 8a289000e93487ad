"""The page in a browser and the same answers by the command line, for its tests and its bench."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from jobgen.__main__ import run
from jobgen.page.browser.session import Session
from jobgen.page.folder import page_files, write_folder
from jobgen.paths import bundled
from tests.browser import PATIENCE, Tab
from tests.page_forms import packages_or_skip


class Page(Tab):
    """A tab with the page."""

    def __init__(self, context: Any, address: str) -> None:
        super().__init__(context)
        self.address = address
        self.open(address)
        self.wait(0)

    def answers(self) -> int:
        return int(self.tab.evaluate("document.body.dataset.answers ?? 0"))

    def wait(self, answers: int) -> None:
        """Until there are more answers than before; all that an answer has is shown at once."""
        self.until(lambda: self.answers() > answers)

    def until(self, condition: Any) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, self.console
            time.sleep(0.02)

    def link(self, form: dict[str, str]) -> None:
        """Open a link with a form; without a program, its field is empty."""
        before = self.answers()
        fragment = urlencode({"program": "", **form})
        self.tab.evaluate("fragment => { location.hash = fragment; }", fragment)
        self.wait(before)

    def choose(self, profile: str) -> None:
        """Choose a profile in the list."""
        before = self.answers()
        self.tab.locator(f"[name=profile][value='{profile}']").check()
        self.wait(before)

    def chosen(self) -> list[str]:
        """The profile that is chosen, if there is one."""
        radios = "[...document.querySelectorAll('[name=profile]:checked')]"
        return list(self.tab.evaluate(f"{radios}.map(each => each.value)"))

    def fill(self, name: str, text: str) -> None:
        before = self.answers()
        self.tab.evaluate(
            "([id, text]) => { const box = document.getElementById(id); box.value = text;"
            " box.dispatchEvent(new Event('input', { bubbles: true })); }",
            [name, text],
        )
        self.wait(before)

    def text(self, name: str) -> str:
        """The text of an element, with what is folded."""
        return str(self.tab.evaluate("id => document.getElementById(id).textContent", name))

    def shown(self) -> dict[str, Any]:
        """What the page shows of an answer: the command, the script, and messages by field."""
        boxes = self.tab.evaluate(
            "[...document.querySelectorAll('.message')]"
            ".map(box => [box.parentElement.id.replace(/-messages$/, ''), box.textContent])"
        )
        return {
            "line": self.text("line"),
            "script": "" if self.tab.is_hidden("#script") else self.script(),
            "messages": sorted(map(tuple, boxes)),
        }

    def script(self) -> str:
        return self.text("upper") + self.text("machinery")

    def lint(self, text: str) -> tuple[str, str]:
        """The findings in a file, and the last line."""
        self.tab.evaluate("document.getElementById('lint-status').textContent = '…'")
        file = {"name": "x.sh", "mimeType": "text/plain", "buffer": text.encode()}
        self.tab.set_input_files("#lint-file", file)
        self.until(lambda: self.text("lint-status") != "…")
        findings = self.tab.evaluate(
            "[...document.querySelectorAll('#findings li')].map(each => each.textContent + '\\n')"
        )
        return "".join(findings), self.text("lint-status")


class CommandLine:
    """The same answers, by the Python of the tests."""

    def __init__(self) -> None:
        self.session = Session(run)

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(
            self.session.answer(json.dumps({"kind": kind, **fields}))
        )
        assert "fault" not in answer, answer
        return answer

    def shown(self, form: dict[str, str]) -> dict[str, Any]:
        answer = self.ask("form", form=form)
        paths = (str(bundled("profiles")), "/app/jobgen/bundled/profiles")
        return {
            "line": answer["line"],
            "script": answer["upper"] + answer["machinery"],
            "messages": sorted(
                (each["field"] or "other", each["text"].replace(*paths))
                for each in answer["messages"]
            ),
        }


def public_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page; without the packages that it runs on, the test is skipped."""
    path = tmp_path_factory.mktemp("page") / "public"
    write_folder(str(path), page_files(str(packages_or_skip())))
    return path
