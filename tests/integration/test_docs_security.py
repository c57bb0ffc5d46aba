# SPDX-License-Identifier: MIT
"""docs/security.md: each claim has a mark and tests that are there, and each test made for that page is named on it."""
import pathlib
import re

import pytest

from fleet import ROOT

PAGE = ROOT / "docs" / "security.md"
# The claims of this section are that nothing is done: no test can show that.
WITHOUT = "What nothing here guards against"
MARK = r"[A-Z]\d+"


def sections():
    """{title: the lines of its list items, each with what is continued}."""
    parts = re.split(r"^## (.*)\n", PAGE.read_text(), flags=re.M)[1:]
    return {title: re.findall(r"^- (.*(?:\n  .*)*)", body, re.M) for title, body in zip(parts[::2], parts[1::2])}


def table():
    """[(mark, [file::test, ...]), ...]"""
    rows = re.findall(rf"^\| ({MARK}) \| (.*) \|$", PAGE.read_text(), re.M)
    return [(mark, re.findall(r"`([\w.]+::\w+)`", tests)) for mark, tests in rows]


def marked():
    return [re.match(rf"\*\*({MARK})\*\* ", item) for title, items in sections().items() if title != WITHOUT
            for item in items]


def is_there(named):
    name, test = named.split("::")
    folder = ROOT / "tests" / ("unit" if name.endswith(".c") else "integration")
    text = (folder / name).read_text() if (folder / name).is_file() else ""
    if name.endswith(".c"):
        return bool(re.search(rf"^static void {test}\(void \*\*", text, re.M)) and len(re.findall(rf"\b{test}\b", text)) > 1
    return bool(re.search(rf"^def {test}\(", text, re.M))


def test_each_claim_has_a_mark_and_a_row():
    assert None not in marked(), "each list item begins with its mark"
    marks = [match[1] for match in marked()]
    assert len(marks) > 40 and len(marks) == len(set(marks))
    assert marks == [mark for mark, _ in table()]


@pytest.mark.parametrize("mark,tests", table(), ids=[mark for mark, _ in table()])
def test_each_claim_names_tests_that_are_there(mark, tests):
    assert tests, mark
    assert [named for named in tests if not is_there(named)] == []


def test_each_test_that_was_made_for_the_page_is_on_it():
    named = {test for _, tests in table() for test in tests}
    made = {f"{path.name}::{test}" for path in pathlib.Path(__file__).parent.glob("test_security*.py")
            for test in re.findall(r"^def (test_\w+)\(", path.read_text(), re.M)}
    assert len(made) > 15
    assert made - named == set()
