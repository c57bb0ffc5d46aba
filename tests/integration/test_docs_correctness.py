# SPDX-License-Identifier: MIT
"""docs/correctness.md: that the remedies which it shows do what it says; its drawing; the manual page made of it."""
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree

import pytest

import pages
from guard_harness import BUILD, ROOT, SANITIZED

pytestmark = pytest.mark.skipif(SANITIZED, reason="it is the same page")
PAGE = "docs/correctness.md"
MANUAL = BUILD / "docs" / "rota-correctness.7"

# How many rows the statement before it has changed, as psql knows it.
COUNT = "\n\\echo :ROW_COUNT\n"


def with_numbers(sql, **numbers):
    """psql's own way of putting them in."""
    for name, number in numbers.items():
        sql = re.sub(rf"(?<!:):{name}\b", str(number), sql)
    return sql


# --- The remedies that are SQL, in PostgreSQL ---

def test_the_page_has_the_table_of_pg_fenced():
    """It is the file rota_fence.sql."""
    assert pages.frame_of(PAGE, "-- SPDX-License-Identifier: MIT\n-- The table") == (
        ROOT / "plugins/pg_fenced/rota_fence.sql").read_text()


def test_the_fence_in_sql_of_ones_own(postgres):
    """An older run that comes while a newer one is at it waits, and finds the newer fence."""
    update = pages.frame_of(PAGE, "UPDATE stock_fence ")
    postgres.query("CREATE TABLE stock_fence (job text PRIMARY KEY, fence bigint NOT NULL); "
                   "INSERT INTO stock_fence VALUES ('count', 7)")
    newer, older = postgres.session(), postgres.session()
    assert newer.run("BEGIN; " + with_numbers(update, fence=9) + COUNT) == ["1"]
    older.begin(with_numbers(update, fence=8) + COUNT)
    assert newer.run(with_numbers(update, fence=9) + COUNT) == ["1"]
    assert newer.run("COMMIT") == []
    assert older.answer() == ["0"]
    assert postgres.value("SELECT fence FROM stock_fence") == "9"


def test_the_same_turn_is_added_once(postgres):
    """The frame of takings: whoever comes second, at the same time or later, adds nothing."""
    create, insert = pages.frame_of(PAGE, "CREATE TABLE takings").strip().split("\n\n")
    postgres.query("CREATE TABLE sale (price numeric NOT NULL); INSERT INTO sale VALUES (3), (4)")
    postgres.query(create)
    first, second = postgres.session(), postgres.session()
    assert first.run("BEGIN; " + with_numbers(insert, turn=5) + COUNT) == ["1"]
    second.begin(with_numbers(insert, turn=5) + COUNT)
    assert first.run("COMMIT") == []
    assert second.answer() == ["0"]
    postgres.query("INSERT INTO sale VALUES (5)")
    postgres.query(with_numbers(insert, turn=5))
    postgres.query(with_numbers(insert, turn=6))
    assert postgres.query("SELECT turn, total FROM takings ORDER BY turn") == [("5", "7"), ("6", "12")]
    # In a transaction with more in it, without the last words.
    bare = with_numbers(insert, turn=6).replace(" ON CONFLICT (turn) DO NOTHING", "")
    assert "duplicate key" in postgres.error(f"BEGIN; DELETE FROM sale WHERE price = 3; {bare} COMMIT")
    assert postgres.value("SELECT count(*) FROM sale") == "3"


def test_a_name_with_the_turn_in_it(tmp_path):
    """Files: a rename puts the later one in place, and ln puts none where one is."""
    def typed(command):
        return subprocess.call(["sh", "-ec", command], cwd=tmp_path, stderr=subprocess.DEVNULL, timeout=10)
    assert typed("echo one >new.1; mv new.1 report-5; echo two >new.2; mv new.2 report-6") == 0
    assert typed("echo late >new.1; ln new.1 report-5") != 0
    assert [(tmp_path / name).read_text() for name in ("report-5", "report-6")] == ["one\n", "two\n"]


# --- Where there is no fence ---

JOB = """report = { plugin = "exec"; every = "1h"; worst_case = "1m"; %s params = { command = [ "/bin/true" ]; }; };
"""
ONE = 'redis = { address = "127.0.0.1:6379"; };'
THREE = 'redis = { quorum = ( %s ); };' % ", ".join('{ address = "127.0.0.1:%d"; }' % port for port in (1, 2, 3))


@pytest.mark.parametrize("top, more, says", [
    (ONE, 'scope = "device"; concurrency = 2;', 'scope = "device"'), (ONE, 'lock = "none";', 'lock = "none"'),
    (ONE, 'lock_key = "a:lock";', "has the same lock_key"),
    (THREE, "", "redis.quorum"), ('store = "local";', "", 'store = "local"'), (ONE, "", None)])
def test_what_gives_no_fence_is_refused(fleet, top, more, says):
    device = fleet.device({})
    jobs = JOB % f"require_fence = true; {more}"
    if "lock_key" in more:
        jobs += JOB.replace("report", "other") % more
    device.write_text(f'prefix = "test:"; plugin_dir = [ "{fleet.plugins}" ]; job_user = "root"; {top}\n'
                      f"jobs = {{ {jobs} }};\n")
    done = device.check()
    said = done.stdout + done.stderr
    if says is None:
        assert done.returncode == 0, said
    else:
        assert done.returncode == 78 and "require_fence cannot be kept" in said and says in said, said


# --- The page itself ---

def test_the_page_names_tests_that_are_there():
    text = pages.text_of(PAGE)
    rows = re.findall(r"^\| .* \| (`test_.*) \|$", text.partition("\n## Which test shows what\n")[2], re.M)
    assert len(rows) > 12
    for cell in rows:
        for name, test in re.findall(r"`([^:`]+)::([^`]+)`", cell):
            assert re.search(rf"^def {test}\(", pages.text_of(f"tests/integration/{name}"), re.M), f"{name}::{test}"


def test_the_drawing_is_for_light_and_dark():
    root = xml.etree.ElementTree.parse(ROOT / "docs/correctness.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    style = root.find(f"{space}style").text
    light, dark = style.split("@media(prefers-color-scheme:dark)")
    for name in ("text", ".paper", ".lane", ".quiet", ".held", ".way", ".bad", ".good"):
        assert f".rota {name}{{" in light and f".rota {name}{{" in dark, name
    # Each text and line has a colour by its class, so that none stays as it is in the dark.
    assert [each.tag for each in root.iter() if "fill" in each.attrib or "stroke" in each.attrib] == []
    width, height = float(root.get("width")), float(root.get("height"))
    assert all(0 <= float(each.get("x")) <= width and 0 <= float(each.get("y")) <= height
               for each in root.iter(f"{space}text"))
    assert root.find(f"{space}desc").text and "](correctness.svg)" in pages.text_of(PAGE)


@pytest.mark.skipif(not MANUAL.exists(), reason="there is no scdoc")
def test_the_manual_page():
    """A drawing of characters in place of the picture; no Markdown is left, and no list of tests."""
    source, text = MANUAL.with_suffix(".7.scd").read_text(), MANUAL.read_text()
    assert [line for line in source.splitlines() if line.startswith(("!", "<!--", "-->", "|--"))] == []
    assert "reads 10" in text and "gate-1 wakes" not in text and "Which test" not in text and "](" not in text
    drawing = next(frame.text for frame in pages.frames(ROOT / PAGE) if "├" in frame.text)
    assert max(map(len, drawing.splitlines())) <= 72
    if shutil.which("man"):
        shown = subprocess.run(["man", "-l", MANUAL], check=True, capture_output=True, text=True, timeout=60,
                               env={**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8"})
        assert "\nWhich remedy\n" in shown.stdout
        for line in drawing.splitlines():
            assert line.strip() in shown.stdout, line
