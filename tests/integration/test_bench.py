# SPDX-License-Identifier: MIT
"""./quickstart bench: the page says what was measured and who is better, whoever it is; and a quick run of it all."""
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import pytest

from fleet import BUILD, ROOT, SANITIZED, marked_processes, wait_for

BENCH = ROOT / "tests" / "bench"
sys.path.append(str(BENCH))
import bars  # noqa: E402
import figures  # noqa: E402
import page  # noqa: E402
from figures import Row, Table  # noqa: E402

ABOUT = {"machine": {"processors": "2"}, "versions": {"rota": "0.1.0"}, "notes": ["Apples are no pears."],
         "missing": {"etcdctl": "there is no network"}, "command": "./quickstart bench"}
SVG = "{http://www.w3.org/2000/svg}"


def two(ours, theirs, key="begin"):
    tables = page.empty_tables()
    figures.merge(tables, {key: [Row("rota", ours), Row("made-up", theirs)]})
    return tables


@pytest.mark.parametrize("ours, theirs, said", [
    ([5, 6, 7], [2, 3, 4], r"\*\*made-up wins\*\*; rota has place 2 of 2 with 6 ms, 2 times as much"),
    ([2, 3, 4], [5, 6, 7], r"\*\*rota is best\*\* with 3 ms; next is made-up with 6 ms, 2 times as much"),
    ([3], [3], "Nobody does better than rota .3 ms.; equal: made-up"),
    ([3], [0], r"\*\*made-up wins\*\*; rota has place 2 of 2 with 3 ms. Better"),
])
def test_who_is_better_is_computed(ours, theirs, said):
    text, _ = page.render(two(ours, theirs), ABOUT)
    first, _, rest = text.partition("## The design's bounds")
    assert re.search(said, first) and re.search(said, rest)


def test_what_rota_does_not_win_comes_first():
    tables = two([1], [2])
    figures.merge(tables, {"turn": [Row("rota", [1]), Row("made-up", [0.5])]})
    text, _ = page.render(tables, ABOUT)
    assert text.index("made-up wins") < text.index("rota is best")


def test_what_was_left_out_is_named():
    text, _ = page.render(two([1], [2]), ABOUT)
    assert "etcdctl was left out: there is no network" in text and "Apples are no pears." in text


def test_a_table_that_nobody_knows_is_refused():
    with pytest.raises(KeyError, match="there is no table \"beginning\""):
        figures.merge(page.empty_tables(), {"beginning": [Row("made-up", 1)]})


def test_a_bound_that_is_broken_is_said():
    tables = page.empty_tables()
    figures.merge(tables, {"memory": [Row("rota, 10 jobs", 401)], "size": [Row("rotad + rota-guard", 300)]})
    text = page.bounds_text({table.key: table for table in tables if table.rows})
    assert re.search(r"10 jobs: private dirty \| 400 KiB \| 401 KiB \| \*\*no\*\*", text)
    assert re.search(r"stripped \| 300 KiB \| 300 KiB \| yes", text)
    assert "takeover" not in text and "round trips" not in text  # which were not measured


def test_a_run_over_its_floor():
    tables = page.empty_tables()
    figures.merge(tables, {"floor": [Row("a bare program that loads the plugin", [0.8, 2, 3]),
                                     Row("a round trip to Redis", 0.1), Row("rota, from acquire to finish", [2.9, 4.3, 9])]})
    text = page.bounds_text({table.key: table for table in tables if table.rows})
    assert re.search(r"by medians \| 1.50 times \| 2.00 times \| \*\*no\*\*", text)
    assert re.search(r"only adds \| 1.50 times \| 3 times \| \*\*no\*\*", text)


def test_spread():
    row = Row("rota", range(1, 501))
    assert (row.median, row.p99, row.least, row.most) == (250.5, 495, 1, 500)
    assert Row("rota", [7]).p99 == 7
    with pytest.raises(ValueError, match="nothing was measured"):
        Row("rota", [])


def widths(drawing):
    rects = ET.fromstring(drawing).iter(f"{SVG}rect")
    return {rect.get("class"): float(rect.get("width")) for rect in rects if rect.get("class") != "page"}


def test_bars_are_as_long_as_their_medians():
    found = widths(bars.draw(Table("a", "A", "ms", [Row("rota", 10), Row("x", 20)])))
    assert found["peer"] == pytest.approx(2 * found["ours"], abs=0.2)


def test_decades_where_small_values_would_not_be_seen():
    found = widths(bars.draw(Table("a", "A", "ms", [Row("rota", 2), Row("x", 2000)])))
    assert found["peer"] / found["ours"] == pytest.approx(math.log(2000) / math.log(2), rel=0.01)
    assert "each step is ten times the last" in bars.draw(Table("a", "A", "ms", [Row("rota", 2), Row("x", 2000)]))


def test_nothing_at_all_is_drawn_too():
    assert widths(bars.draw(Table("a", "A < B & C", "ms", [Row("rota", 0), Row("x", 0)]))) == {"ours": 0, "peer": 0}


def test_readme_leads_to_the_page_that_is_there():
    assert not (ROOT / "docs" / "benchmarks.md").exists() or "(docs/benchmarks.md)" in (ROOT / "README.md").read_text()


def bench(*options, **more):
    return subprocess.Popen(["/usr/bin/python3", "-B", BENCH / "bench.py", *options], text=True, stdout=subprocess.PIPE, start_new_session=True,
                            env={**os.environ, "ROTA_BUILD": str(BUILD), **more})


def test_what_was_kept_is_drawn_again(tmp_path):
    kept, out = tmp_path / "kept.json", tmp_path / "docs"
    (out / "benchmarks").mkdir(parents=True)
    (out / "benchmarks" / "old.svg").write_text("of a table that is no more")
    kept.write_text(figures.dump(two([2], [1]), **ABOUT))
    assert bench("--from", kept, "--out", out).wait(60) == 0
    assert "made-up wins" in (out / "benchmarks.md").read_text()
    assert sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()) == [
        "benchmarks.md", "benchmarks/begin.svg"]


@pytest.fixture
def folder():
    """A short name: a socket's is limited."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="rota-b-"))
    yield path
    for pid in marked_processes(path):
        os.kill(pid, signal.SIGKILL)
    shutil.rmtree(path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_ends_it_finds_all_as_it_was(folder, tmp_path, number):
    """Ctrl-C reaches all that it has started as well."""
    (tmp_path / "benchmarks.md").write_text("the last one")
    process = bench("--out", tmp_path, "--scale", "0.1", TMPDIR=str(folder))
    wait_for(lambda: any("rotad" in command for command in marked_processes(folder).values()), 30, "it measures")
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    assert process.wait(60) == 128 + number
    process.stdout.close()
    assert list(folder.iterdir()) == [] and marked_processes(folder) == {}
    assert [path.name for path in tmp_path.iterdir()] == ["benchmarks.md"]


# What a machine that is busy with other tests comes to as well.
PLAUSIBLE = {
    "idle": (100, 800), "pss": (100, 4000), "switches": (0, 100), "memory": (50, 4000), "start": (0.5, 3000),
    "start_by_jobs": (0.5, 3000), "wakes": (0, 200), "idle_cpu": (0, 100), "size": (10, 310), "disk": (0, 1000),
    "wire": (500, 20_000), "begin": (0.3, 900), "release": (0.05, 900), "whole": (0.5, 990), "cpu": (0.3, 100),
    "commands": (3, 3), "pass": (1, 1), "processes": (2, 2), "peak": (500, 20_000), "floor": (0.005, 500),
    "takeover": (6, 13), "turn": (1, 1), "fleet_commands": (3, 60), "fleet_late": (0.3, 4000),
    "fleet_memory": (100, 10_000), "sim_commands": (10, 20), "sim_late": (50, 500), "sim_takeover": (9, 11),
}


@pytest.mark.long
@pytest.mark.skipif(SANITIZED, reason="a sanitizer's time and memory are its own")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root sees packets")
def test_a_quick_run_of_all(tmp_path):
    kept = tmp_path / "kept.json"
    process = bench("--out", tmp_path / "docs", "--rounds", "40", "--scale", "0.1", "--keep", kept)
    assert process.wait(400) == 0, process.stdout.read()
    process.stdout.close()
    tables = {table.key: table for table in figures.load(kept.read_text())[0]}
    assert set(tables) == set(PLAUSIBLE)
    medians = {(key, row.who): row.median for key, table in tables.items() for row in table.rows}
    wrong = {which: value for which, value in medians.items()
             if not PLAUSIBLE[which[0]][0] <= value <= PLAUSIBLE[which[0]][1]}
    assert wrong == {}
    memory = [medians["memory", f"rota, {count} jobs"] for count in ("10", "100", "1,000")]
    assert memory == sorted(set(memory))
    assert medians["memory", "rota, 10 jobs, with TLS"] > 2 * medians["memory", "rota, 10 jobs"]
    assert medians["whole", "rota"] > medians["begin", "rota"] + medians["release", "rota"] / 2
    assert medians["size", "rotad + rota-guard"] == medians["size", "rotad"] + medians["size", "rota-guard"]
    assert medians["disk", "rota, idle, a day"] == 0
    assert len(tables["begin"].rows[0].values) == 40
    assert tables["turn"].rows[0].most == 1
    text = (tmp_path / "docs" / "benchmarks.md").read_text()
    for table in tables.values():
        assert f"### {table.title}\n" in text
    for drawing in re.findall(r"\((benchmarks/\w+\.svg)\)", text):
        ET.parse(tmp_path / "docs" / drawing)
