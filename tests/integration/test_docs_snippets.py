# SPDX-License-Identifier: MIT
"""Each frame of README.md, docs/*.md and the manual pages is run, compared or read by a test: one that nobody looks
after fails here. So do commands and keys in their sentences that are not there."""
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

import pytest

import pages
from doc_scene import Scene, literals
from fleet import PREFIX, ROTAD
from guard_harness import BUILD, GUARD, ROOT, SANITIZED, compile_plugin
from rotactl import ROTACTL
from test_docs_plugins import root, well  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(SANITIZED, reason="what these run is tested in detail elsewhere")
MYSELF = "test_docs_snippets.py"
GUIDE = "docs/guide.md"
CONF_PAGE = BUILD / "docs" / "rotad.conf.5.scd"


@pytest.fixture
def scene(redis_server):
    the_scene = Scene(redis_server)
    try:
        yield the_scene
        the_scene.stop()
    finally:
        the_scene.close()


def fleet_of_the_guide():
    return pages.frame_of(GUIDE, "prefix = ")


# --- How each kind of frame is tested ---

def conf_is_good(frame, scene, request):
    scene.write_conf(frame.text)
    checked = scene.check()
    assert ", all good" in checked and "warning" not in checked


def redis_of_the_page(frame, scene, request):
    """In a configuration with a job; its password files are there."""
    text = frame.text
    for path in re.findall(r'password_file *= *"(/[^"]+)"', text):
        ours = scene.folder / pathlib.Path(path).name
        ours.touch(mode=0o600)
        ours.write_text("sesame\n")
        text = text.replace(path, str(ours))
    scene.write_conf(f'{text}prefix = "acme-gw:";\njobs = {{ tick = {{ plugin = "exec"; every = "1h"; worst_case = "1m";'
                     ' params = { command = [ "/usr/bin/true" ]; }; }; };\n')
    checked = scene.check()
    assert "1 job, all good" in checked and "warning" not in checked


def typed_on_a_device(frame, scene, request):
    """Its lines end well; what would change the machine is noted alone."""
    scene.write_conf(fleet_of_the_guide(), reachable=True)
    scene.write_image()
    scene.start()
    done = scene.run(frame.text)
    assert done.returncode == 0, done.stdout


def golden_check(frame, scene, request):
    text = fleet_of_the_guide()
    if frame.mark:
        text = text.replace('worst_case = "10m";', 'worst_case = "10m"; lease = "45s"; stop_grace = "30s";')
    scene.write_conf(text)
    scene.type_all(frame.text)


def golden_on_a_device(frame, scene, request):
    scene.write_conf(fleet_of_the_guide(), reachable=True)
    scene.start()
    scene.type_all(frame.text)


def golden_console(frame, scene, request):
    (golden_check if "$ rotad --check" in frame.text else golden_on_a_device)(frame, scene, request)


def cron_of_the_next_frame(frame, scene, request):
    """The same fields, in the job that takes the line's place."""
    following = next(each for each in pages.frames(ROOT / frame.of) if each.line > frame.line)
    fields = frame.text.split()[:5]
    assert f'cron       = "{" ".join(fields)}"' in following.text
    command = re.findall(r"/usr/\S+ --\w+", frame.text)[0].split()
    assert ", ".join(f'"{word}"' for word in command) in following.text


def timer_is_of_systemd(frame, scene, request):
    at = re.search(r"^OnCalendar=(.*)$", frame.text, re.M)[1]
    hour, minute = re.search(r"(\d\d):(\d\d):00", at).groups()
    following = next(each for each in pages.frames(ROOT / frame.of) if each.line > frame.line)
    assert f'cron       = "{int(minute)} {int(hour)} * * *"' in following.text
    if shutil.which("systemd-analyze"):
        subprocess.run(["systemd-analyze", "calendar", at], check=True, stdout=subprocess.DEVNULL, timeout=20)


def older_fence_changes_nothing(frame, scene, request):
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE stock_fence (job TEXT, fence INTEGER)")
        base.execute("INSERT INTO stock_fence VALUES ('count', 7)")
        assert [base.execute(frame.text, {"fence": fence}).rowcount for fence in (7, 9, 8)] == [1, 1, 0]


def cost_as_check_says_it(frame, scene, request):
    """Of one job every 5 minutes over a network."""
    scene.write_conf("""prefix = "acme-gw:";
        redis = { address = "redis.example:6379"; };
        checkin = "1d";
        jobs = { job = { plugin = "exec"; every = "5m"; worst_case = "10s";
                         params = { command = [ "/usr/bin/true" ]; }; }; };
""")
    said = [line.strip() for line in scene.check().splitlines()]
    assert frame.text.strip() in said


def said_by_the_programs(*phrases):
    """It shows what a program says; these words of it are in the program's texts."""
    def test(frame, scene, request):
        texts = [" ".join(text.split()) for text in literals()]
        shown = " ".join(frame.text.split())
        for phrase in phrases:
            assert phrase in shown and any(phrase in text for text in texts), phrase
    return test


def pause_by_hand(frame, scene, request):
    with scene.redis.client() as client:
        client.hset("acme-gw:{update_firmware}:claim", mapping={"fails": 3, "turn": 1})
        client.set("acme-gw:{update_firmware}:pause", "rota: stopped after 3 failures in a row")
        for line in frame.text.splitlines():
            done = scene.run(line)
            assert done.returncode == 0 and done.stdout.strip() in ("OK", "1"), done.stdout
        left = {"acme-gw:{update_firmware}:pause"} if "nightly" in frame.text else set()
        assert set(client.keys("acme-gw:*:pause")) == left
        assert client.hget("acme-gw:{update_firmware}:claim", "fails") == (None if "fails" in frame.text else "3")


def check_in_the_unit(frame, scene, request):
    """The credential that is named is the unit's; rotad takes the options."""
    done = scene.run(frame.text)
    assert done.returncode == 0, done.stdout
    noted = scene.noted.read_text()
    setting = re.search(r"-p (LoadCredential=\S+)", noted)[1].replace("/etc/credstore/", "")
    assert f"\n{setting}\n" in (ROOT / "systemd" / "rotad.service.in").read_text()
    assert noted.endswith(" rotad --check --online\n")


def description_of_the_example(frame, scene, request):
    source = ROOT / "plugins" / "example" / "disk_room.c"
    plugin = compile_plugin(scene.folder, source, None, [])
    assert well(GUARD, "--describe", plugin) == frame.text


def rule_is_for_the_unit_before(frame, scene, request):
    before = [each for each in pages.frames(ROOT / frame.of) if each.line < frame.line][-1]
    unit = re.search(r'"unit"\) == "([^"]+)"', frame.text)[1]
    assert f'unit = "{unit}"' in before.text and 'subject.user == "rota-job"' in frame.text
    for left, right in ("()", "{}", "[]"):
        assert frame.text.count(left) == frame.text.count(right)


def words_of_quickstart(frame, scene, request):
    usage = subprocess.run([ROOT / "quickstart", "help"], check=True, capture_output=True, text=True, timeout=20).stdout
    words = re.findall(r"^\./quickstart (\w+)", frame.text, re.M)
    assert words == ["run", "test", "package"]
    assert [word for word in words if f"./quickstart {word} " not in usage] == []


def prepare_pkg_config(scene, request):
    """The header and rota.pc are those of an installed system, as for docs/plugins.md."""
    system = request.getfixturevalue("root")
    prefix = re.search(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.M)[1]
    pc = (system / "usr/share/pkgconfig/rota.pc").read_text()
    (scene.folder / "rota.pc").write_text(pc.replace(prefix, f"{system}/usr"))
    return f"export PKG_CONFIG_PATH={scene.folder}\n"


def plugin_by_hand(frame, scene, request):
    shutil.copy(ROOT / "plugins" / "example" / "disk_room.c", scene.folder)
    # A machine may be as full as it likes.
    done = scene.run(prepare_pkg_config(scene, request) + frame.text.replace("path=/ ", "path=/ limit=100 "))
    assert done.returncode == 0, done.stdout
    assert "\nparameter: limit\n" in done.stdout and "succeeded" in done.stdout


def builds(frame, scene, request):
    """A body for what is only declared there."""
    body = "" if "{\n" in frame.text else "static int run(const struct rota_run *r) { (void)r; return 0; }\n"
    (scene.folder / "page.c").write_text(frame.text + body)
    well("cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-I", ROOT / "plugins" / "include",
         "-o", scene.folder / "page.so", scene.folder / "page.c")
    assert well(GUARD, "--describe", scene.folder / "page.so").startswith("plugin: ")


def plugin_of_the_page(frame, scene, request):
    source = [each for each in pages.frames(ROOT / frame.of) if each.line < frame.line][-1]
    (scene.folder / "nothing.c").write_text(source.text)
    done = scene.run(prepare_pkg_config(scene, request) + frame.text)
    assert done.returncode == 0, done.stdout
    assert "plugin: nothing\n" in done.stdout and "\nnothing to do after " in done.stdout


def installed_by_hand(frame, scene, request):
    """What it builds is quickstart's and the packages' business: here its words."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]
    lines = [line.partition("  #")[0].rstrip() for line in frame.text.splitlines()]
    named = re.search(r"--preset (\w+)", frame.text)[1]
    preset, base = ({each["name"]: each for each in presets}[name] for name in (named, "base"))
    folder = base["binaryDir"].replace("${sourceDir}/", "").replace("${presetName}", named)
    assert preset["inherits"] == "base"
    assert {line.split()[2] for line in lines if re.match("cmake --(build|install)", line)} == {folder}
    options = re.findall(r"-D(\w+)=", frame.text)
    ours = [name for name in options if name.startswith("ROTA_")]
    assert ours and [name for name in ours if f"option({name} " not in pages.text_of("CMakeLists.txt")] == []
    assert {line.split()[0] for line in lines} == {"apt-get", "cmake", "systemd-sysusers", "journalctl", "systemctl"}


def drawn_by_timeline(frame, scene, request):
    """On one line, as the page says; beside a run, since it may be of none."""
    run = {"job": "report", "device": "gate-1", "turn": 1796005800000, "outcome": "succeeded", "ended": 1796005801000}
    (scene.folder / "runs.json").write_text(f'{" ".join(frame.text.split())}\n{json.dumps(run)}\n')
    done = scene.run("rotactl timeline --from runs.json")
    assert done.returncode == 0 and json.loads(frame.text).get("job", "report") in done.stdout, done.stdout


def timeline_of_the_page(frame, scene, request):
    """A run for each job that the command names, of now."""
    now = time.time_ns() // 1_000_000
    runs = [{"job": job, "device": "gate-1", "turn": now - 60_000, "outcome": "succeeded", "ended": now}
            for job in re.search(r"timeline ((?:\w+ )+)--", frame.text)[1].split()]
    (scene.folder / "runs.json").write_text("".join(json.dumps(run) + "\n" for run in runs))
    done = scene.run(frame.text)
    assert done.returncode == 0, done.stdout
    drawings = [path.read_text() for path in scene.folder.glob("*.svg")]
    assert drawings if "--svg" in frame.text else runs[0]["job"] in done.stdout


def timeline_of_a_device(frame, scene, request):
    """On one that has run something."""
    scene.write_conf(fleet_of_the_guide(), reachable=True)
    scene.start()
    with scene.redis.client() as client:
        client.xadd(f"{PREFIX}{{nightly_report}}:history", {"turn": time.time_ns() // 1_000_000, "attempt": 1, "ran": 9,
                                                            "token": "gate-1:0", "outcome": "succeeded", "fence": 7})
    done = scene.run(frame.text)
    assert done.returncode == 0, done.stdout
    assert "gate-1" in (scene.folder / "fleet.json").read_text() and (scene.folder / "fleet.svg").exists()


def by_the_simulator(frame, scene, request):
    options = set(re.findall(r"--[a-z]+", frame.text))
    source = "".join(path.read_text() for path in (ROOT / "tests" / "sim").glob("*.c"))
    assert options and [each for each in options if f'"{each[2:]}"' not in source and f'"{each}"' not in source] == []
    assert [name for name in re.findall(r"tests/sim/\w+\.py", frame.text) if not (ROOT / name).is_file()] == []


# Where neither its language nor a mark tells: by the page and how the frame begins.
HOW = {
    ("README.md", "./quickstart run"): words_of_quickstart,
    ("README.md", "redis.example:6379"): said_by_the_programs("write at Redis: ACL SETUSER", "found in",
                                                              "with the certificate of"),
    ("README.md", "gcc -shared"): plugin_by_hand,
    ("README.md", "apt-get install"): installed_by_hand,
    ("docs/turns.md", "build/ci/tests/sim/sim"): by_the_simulator,
    ("docs/redis.md", "redis = {"): redis_of_the_page,
    ("docs/guide.md", "cost "): cost_as_check_says_it,
    ("docs/guide.md", "All jobs and hello"): cost_as_check_says_it,
    ("docs/rotad.8.scd", "sync: failed after"): said_by_the_programs("turn of", "more of these within"),
    ("docs/rotad.8.scd", "redis-cli "): pause_by_hand,
    ("docs/rotad.8.scd", "5 jobs, 1 invalid"): said_by_the_programs("; next", "redis ok", "mixed"),
    ("docs/rotad.8.scd", "redis.example:6379"): said_by_the_programs(
        "write at Redis: ACL SETUSER", "with the certificate of", "where memory is short, locks and claims"),
    ("docs/rotad.8.scd", "systemd-run"): check_in_the_unit,
    ("docs/rota-plugin.5.scd", "#include"): builds,
    ("docs/rota-plugin.5.scd", "cc "): plugin_of_the_page,
    ("docs/rotactl.1.scd", '{"job"'): drawn_by_timeline,
    ("docs/rotactl.1.scd", '{"now"'): drawn_by_timeline,
    ("docs/rotactl.1.scd", "rotactl timeline --json"): timeline_of_a_device,
    ("docs/rotactl.1.scd", "rotactl timeline"): timeline_of_the_page,
    ("docs/rota-guard.8.scd", "plugin: disk_room"): description_of_the_example,
    ("docs/rota-plugins.7.scd", "polkit.addRule"): rule_is_for_the_unit_before,
}
BY_LANGUAGE = {"conf": conf_is_good, "console": golden_console, "sh": typed_on_a_device, "ini": timer_is_of_systemd,
               "sql": older_fence_changes_nothing, "crontab": cron_of_the_next_frame}
# Other tests take these frames from their pages: (page, begin): (test, what it looks them up by).
ELSEWHERE = {
    ("README.md", "prefix=acme-gw:"): ("test_acl_example.py", "lines_of_readme"),
    ("docs/rotad.8.scd", "prefix=acme-gw:"): ("test_acl_example.py", "lines_of_manual"),
    ("docs/rotad.8.scd", "openssl req"): ("test_check_online_tls.py", "openssl req"),
    ("docs/guide.md", "a turn that another device has"): ("test_bytes.py", "guide_says"),
    ("docs/guide.md", "in the clear    "): ("test_bytes.py", "guide_says"),
    ("docs/redis.md", "maxmemory "): ("test_redis_settings.py", 'frame_of("docs/redis.md", "maxmemory ")'),
    ("docs/states.md", "stateDiagram"): (
        "../unit/CMakeLists.txt", "add_test(NAME docs.states COMMAND states ${PROJECT_SOURCE_DIR}/docs/states.md)"),
    ("docs/rota-plugins.7.scd", "CREATE TABLE rota_fence"): ("test_pg_fenced.py", 'REFERENCE, "CREATE TABLE rota_fence"'),
    ("docs/plugins.md", "if (ROTA_HAS"): ("test_docs_plugins.py", "a member that is not there yet"),
}
DRAWING = re.compile("[│├└]")
FRAMES = [frame for path in pages.pages() for frame in pages.frames(path)]


def found_by(table, frame):
    return next((table[key] for key in table if key[0] == frame.of and frame.text.startswith(key[1])), None)


def how(frame):
    """The function that tests it; or where that is done."""
    if found_by(HOW, frame):
        return found_by(HOW, frame)
    elsewhere = found_by(ELSEWHERE, frame)
    if elsewhere:
        return elsewhere
    if frame.mark and MYSELF not in frame.mark[1]:
        return re.search(r"test_\w+\.py", frame.mark[1])[0], frame.mark[0]
    if frame.language in BY_LANGUAGE:
        return BY_LANGUAGE[frame.language]
    if frame.of.endswith(".scd"):
        return conf_is_good if re.search(r"^ *worst_case ", frame.text, re.M) else (
            typed_on_a_device if re.match("(/usr/libexec/)?rot(ad|actl|a-guard) ", frame.text) else None)
    return "drawing" if DRAWING.search(frame.text) else None


@pytest.mark.parametrize("frame", FRAMES, ids=[f"{frame.of}:{frame.line}" for frame in FRAMES])
def test_frame(frame, request):
    test = how(frame)
    assert test, f"{frame.of}:{frame.line}: nothing tests this frame; say in this file how it is to be tested"
    if callable(test):
        test(frame, request.getfixturevalue("scene"), request)
    elif test != "drawing":
        name, words = test
        assert words in (ROOT / "tests" / "integration" / name).read_text(), f"{name} does not look for '{words}'"


def test_example_of_the_conf_page(scene):
    """That page is written by the build."""
    example = re.search(r"^# EXAMPLE\n+```\n(.*?)```", CONF_PAGE.read_text(), re.M | re.S)[1]
    scene.write_conf(example)
    assert ", all good" in scene.check()


# --- Sentences ---

# Each with the word that makes it say what it takes, and how a command's line begins there.
PROGRAMS = {"rotad": (ROTAD, "--help", None), "rotactl": (ROTACTL, "--help", "  "),
            "rota-guard": (GUARD, "--help", None), "./quickstart": (ROOT / "quickstart", "help", "./quickstart ")}
BY_HAND = [(path, line, words) for path in pages.pages() for line, words in pages.spans(path)]


def help_of(program, word, _):
    return subprocess.run([program, word], check=True, capture_output=True, text=True, timeout=20).stdout


def test_commands_in_sentences_are_there():
    texts = {name: help_of(*program) for name, program in PROGRAMS.items()}
    typed = [(path, line, words.split()) for path, line, words in BY_HAND if words.split()[0] in PROGRAMS]
    assert len(typed) > 40
    strange = []
    for path, line, words in typed:
        text, begin = texts[words[0]], PROGRAMS[words[0]][2]
        strange += [f"{path.name}:{line}: {' '.join(words)}" for word in words[1:]
                    if word.startswith("--") and word.split("=")[0] not in text]
        if begin and len(words) > 1 and not words[1].startswith("-") and words[1] != "help":
            known = re.search(rf"^{re.escape(begin + words[1])}\b", text, re.M)
            strange += [] if known else [f"{path.name}:{line}: {words[1]}"]
    assert strange == []


def test_keys_in_sentences_are_there():
    keys = set(re.findall(r"^\*([\w.]+)\*$", CONF_PAGE.read_text(), re.M))
    for description in (BUILD / "plugins").glob("*.description"):
        keys |= set(re.findall(r"^parameter: (\w+)$", description.read_text(), re.M))
    assert len(keys) > 80
    settings = [(path, line, words) for path, line, words in BY_HAND if re.match(r"[a-z_.]+ = \S", words)]
    assert len(settings) > 50
    assert [f"{path.name}:{line}: {words}" for path, line, words in settings
            for key in re.findall(r"(?:^|; )([a-z_.]+) = ", words) if key.rpartition(".")[2] not in keys] == []


def test_pages_that_are_named_are_there():
    """In the pages, and in what journalctl -x says."""
    known = {f"{name}({number})" for name, number in
             (path.name.split(".")[:2] for path in (ROOT / "docs").glob("*.scd"))} | {"rotad.conf(5)", "rota-guide(7)",
                                                                                           "rota-redis(7)", "rota-correctness(7)"}
    assert len(known) > 5
    named = {(path.name, f"{name}({number})") for path in [*pages.pages(), ROOT / "systemd" / "rota.catalog"]
             for name, number in re.findall(r"\b(rota[a-z.-]*)\*?\((\d)\)", path.read_text())}
    assert len(named) > 20
    assert sorted(each for each in named if each[1] not in known) == []


# --- The guide ---

def rows(heading):
    """Of the tables below it, each row's cells."""
    text = pages.text_of(GUIDE).partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines()
            if line.startswith("| ")]


def test_what_to_write_passes_the_check(scene):
    """Each line of the table of scopes, in a job."""
    lines = [re.findall("`([^`]+)`", cell[1]) for cell in rows("Who runs it")[1:]]
    assert len(lines) > 5
    for line in lines:
        setting = line[0].rstrip(";") + ";"
        top, own = 'prefix = "a:"; redis = { address = "127.0.0.1:6379"; };', setting
        if setting.startswith("store"):
            top, own = setting, ""
        scene.write_conf(f'{top}\njobs = {{ job = {{ plugin = "exec"; every = "1h"; worst_case = "1m"; {own}\n'
                         'params = { command = [ "/usr/bin/true" ]; }; }; };\n')
        assert "1 job, all good" in scene.check(), line


def test_what_is_shown_is_what_the_programs_say():
    """Of each quotation every group of words between "…" and a comma or the like is in a text of theirs."""
    texts = [text.split() for text in literals()]
    table = rows("What happens when")[1:]
    assert len(table) > 20
    groups = [group.split() for _, shown, _ in table for quotation in re.findall("`([^`]+)`", shown)
              for group in re.split("[…;:,()]", quotation) if re.search(r"\w{3}", group)]
    assert len(groups) > 50
    assert [" ".join(group) for group in groups if not any(has(text, group) for text in texts)] == []


def has(text, words):
    """One after the other; what the program puts in stands for any word."""
    def like(ours, word):
        return word in ours or ours.startswith("%")
    places = [text[at:at + len(words)] for at in range(len(text) - len(words) + 1)]
    return any(all(map(like, place, words)) and any(word in ours for ours, word in zip(place, words))
               for place in places)


def test_links_lead_somewhere():
    for path in pages.pages():
        if path.suffix != ".md":
            continue
        text = path.read_text()
        anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")
                   for title in re.findall(r"^#+ (.*)$", text, re.M)}
        for target in re.findall(r"\]\(([^)]+)\)", text):
            there = target[1:] in anchors if target.startswith("#") else (path.parent / target).exists()
            assert there, f"{path.name}: {target}"
