# SPDX-License-Identifier: MIT
"""Contract 1 for ten years: plugins that were built by its first header, and by one of a later rota, run here.

tests/contract/1 holds the header as it was. It is never edited: what it says is what plugins in the field
were built from.
"""
import hashlib
import re
import subprocess

import guard_harness as h
import pytest
from guard_harness import run
from plugin_header import STRUCTS, bare, members, text_of

FROZEN = h.ROOT / "tests" / "contract" / "1"
CURRENT = h.ROOT / "plugins" / "include"
FROZEN_SHA256 = "bb51b86d92a5618fbed5030d73871de031944eb367fe019ed900dd6058fe444d"


def enumerators(text):
    return re.findall(r"\b(ROTA_[A-Z_]+) = \d", text)


def layout(tmp_path, include, compiler):
    """What the compiler makes of all that the frozen header names: [(what, number), ...]"""
    text = bare(FROZEN)
    things = [(name, name) for name in [*enumerators(text), "ROTA_ABI"]]
    for struct in STRUCTS:
        things += [(f"{struct}.{name}", f"offsetof(struct {struct}, {name})") for name in members(text, struct)]
        things += [(f"size of {struct}.{name}", f"sizeof(((struct {struct} *)0)->{name})")
                   for name in members(text, struct)]
    source = tmp_path / "layout.c"
    lines = "".join(f'printf("%s=%lld\\n", "{what}", (long long)({code}));\n' for what, code in things)
    source.write_text(f"#include <rota/plugin.h>\nint main(void)\n{{\n{lines}return 0;\n}}\n")
    program = tmp_path / "layout"
    subprocess.run([*compiler, "-w", f"-I{include}", str(source), "-o", str(program)], check=True)
    out = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    return [line.split("=") for line in out.splitlines()]


def test_the_first_header_is_as_it_was():
    digest = hashlib.sha256((FROZEN / "rota" / "plugin.h").read_bytes()).hexdigest()
    assert digest == FROZEN_SHA256, "tests/contract/1 is never edited; a change goes into plugins/include"


def builds_and_runs(compiler, folder):
    (folder / "one.c").write_text("#include <stdio.h>\nint main(void) { return 0; }\n")
    command = [*compiler, str(folder / "one.c"), "-o", str(folder / "one")]
    try:
        return subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode == 0 and \
            subprocess.run([str(folder / "one")], check=False).returncode == 0
    except OSError:
        return False


@pytest.mark.parametrize("compiler", [["cc"], ["cc", "-m32"]], ids=" ".join)
def test_every_name_keeps_its_place_and_number(tmp_path, compiler):
    if not builds_and_runs(compiler, tmp_path):
        pytest.skip(f"{' '.join(compiler)} builds nothing that runs here")
    then, now = layout(tmp_path, FROZEN, compiler), layout(tmp_path, CURRENT, compiler)
    assert len(then) > 100 and now == then


def test_structs_only_grow_at_the_end():
    for struct in STRUCTS:
        then, now = members(bare(FROZEN), struct), members(bare(CURRENT), struct)
        assert now[:len(then)] == then and len(then) > 7


def test_every_inline_function_is_still_there():
    def inlines(include):
        return re.findall(r"ROTA_INLINE [^()]*?\b(rota_\w+)\(", bare(include))
    assert len(inlines(FROZEN)) == 12
    assert set(inlines(FROZEN)) <= set(inlines(CURRENT))


@pytest.fixture(scope="module")
def old(folder):
    """compile(name of a test plugin): as its author did by the first header."""
    def compile_old(name, *defines):
        out = folder / "old"
        out.mkdir(exist_ok=True)
        # What comes first counts.
        return h.compile_plugin(out, h.PLUGINS / f"{name}.c", None, defines,
                                compiler=["cc", f"-I{FROZEN}"])
    return compile_old


def test_old_plugin_has_its_parameters(old, prober):
    typed = old("typed")
    given = {"text": "hello", "mode": "slow", "count": 10, "ratio": 1, "really": False, "wait": "1h",
             "room": "1.5MiB", "names": ["z"]}
    assert prober.probe(typed, given)["errors"] == []
    ended, guard = run(typed, given)
    assert ended["result"] == h.SUCCEEDED
    assert guard.lines() == ["text=hello mode=slow where=- count=10 ratio=1.000 really=0 wait=3600000 "
                             "room=1572864 set=11 names=z"]
    assert "count is 11; the greatest is 10" in prober.probe(typed, {"count": 11})["errors"][0][1]


def test_old_plugin_has_all_of_its_run(old):
    behave = old("behave")
    _, guard = run(behave, {"as": "run"}, fence=2**52, attempt=2)
    assert guard.lines()[0].startswith("nightly gate-1 1795967400000 4503599627370496 2 3 1 ")
    for way, how, result in (("answer", h.RETURNED, h.SUCCEEDED), ("failing", h.RETURNED, h.FAILED),
                             ("chatty", h.RETURNED, h.SUCCEEDED), ("clock", h.RETURNED, h.SUCCEEDED)):
        ended, _ = run(behave, {"as": way})
        assert (ended["how"], ended["result"]) == (how, result)
    ended, _ = run(behave, {"as": "stopping"}, worst_case_ms=300)
    assert (ended["stop"], ended["result"]) == (h.STOP_OVERRUN, h.DECLINED)


def later_header(folder):
    """The header as a later minor version might have it: each struct has grown by a member."""
    text = text_of(CURRENT)
    for struct, member in (("rota_param", "const char *unit;"),
                           ("rota_run", "int (*later)(const struct rota_run *);"),
                           ("rota_plugin", "int (*later)(const struct rota_run *);")):
        text, count = re.subn(rf"(struct {struct} \{{.*?)(\n\}};)", rf"\1\n    {member}\2", text, count=1, flags=re.S)
        assert count == 1
    (folder / "later" / "rota").mkdir(parents=True)
    (folder / "later" / "rota" / "plugin.h").write_text(text)
    return folder / "later"


LATER = """
#include <rota/plugin.h>
static const struct rota_param params[] = {
    { .name = "first", .type = ROTA_STRING, .unit = "x" },
    { .name = "second", .type = ROTA_INTEGER, .def = "7", .unit = "y" },
    { .name = NULL },
};
static int run(const struct rota_run *r)
{
    printf("%s %lld %d %d\\n", rota_string(r, "first"), (long long)rota_integer(r, "second"),
           ROTA_HAS(r, fail), ROTA_HAS(r, later));
    return ROTA_SUCCEEDED;
}
ROTA_PLUGIN(.name = "later", .version = "9", .summary = "Later.", .params = params, .run = run, .later = run);
"""


def test_plugin_of_a_later_minor_version(folder, prober):
    """It finds out by ROTA_HAS what this host does not have, and needs no other build."""
    (folder / "later.c").write_text(LATER)
    later = h.compile_plugin(folder, folder / "later.c", compiler=["cc", f"-I{later_header(folder)}"])
    assert prober.probe(later, {"first": "one"})["errors"] == []
    assert prober.probe(later, {"second": 0.5})["errors"][0][1].startswith("second is 0.5")
    ended, guard = run(later, {"first": "one"})
    assert (ended["result"], guard.lines()) == (h.SUCCEEDED, ["one 7 1 0"])


HANDMADE = """
#include <rota/plugin.h>
static int run(const struct rota_run *r)
{
    (void)r;
    return ROTA_SUCCEEDED;
}
static int check(const struct rota_run *r)
{
    return rota_fail(r, ROTA_REFUSED, "checked");
}
ROTA_EXPORT const struct rota_plugin rota_plugin = { .abi = ABI, .size = SIZE, .param_size = PARAM_SIZE,
    .name = "x", .version = "1", .summary = "x", .run = run, .check = check };
"""


def handmade(folder, abi="ROTA_ABI", size="sizeof(struct rota_plugin)", param_size="sizeof(struct rota_param)"):
    source = folder / "handmade.c"
    source.write_text(HANDMADE)
    name = re.sub(r"\W+", "_", f"handmade_{abi}_{size}_{param_size}")
    return h.compile_plugin(folder, source, name, [f"ABI={abi}", f"SIZE={size}", f"PARAM_SIZE={param_size}"])


@pytest.mark.parametrize("abi", ["0", "2", "0xffffffff"])
def test_another_abi_is_refused(folder, prober, abi):
    plugin = handmade(folder, abi=abi)
    words = f"was built for plugin ABI {int(abi, 0)}, this rota has 1; build it against this rota's rota/plugin.h"
    answer = prober.probe(plugin)
    assert answer["loaded"] == 0 and words in answer["errors"][0][1]
    ended, _ = run(plugin)
    assert ended["how"] == h.UNLOADABLE and words in ended["detail"]


@pytest.mark.parametrize("size, said", [
    ("0", "has a contract of 0 bytes"),
    ("offsetof(struct rota_plugin, run)", "has a contract of"),
    ("offsetof(struct rota_plugin, check)", None),
    ("offsetof(struct rota_plugin, check)+sizeof(void*)-1", "in whole words"),
    ("sizeof(struct rota_plugin)", "checked"),
    ("sizeof(struct rota_plugin)+1", "in whole words"),
    ("sizeof(struct rota_plugin)+sizeof(void*)", "says that its contract has"),
    ("0xfffffff8", "says that its contract has"),
])
def test_size_of_the_contract(folder, prober, size, said):
    """No member is there in part, and no byte is read beyond what the file has."""
    answer = prober.probe(handmade(folder, size=size))
    texts = [text for _, text in answer["errors"]]
    assert (texts == []) if said is None else (len(texts) == 1 and said in texts[0])


@pytest.mark.parametrize("param_size, good", [
    ("0", False), ("offsetof(struct rota_param, def)-1", False), ("offsetof(struct rota_param, def)", True),
    ("sizeof(struct rota_param)+1", False), ("sizeof(struct rota_param)+sizeof(void*)", True)])
def test_size_of_a_parameter(folder, prober, param_size, good):
    answer = prober.probe(handmade(folder, param_size=param_size))
    assert answer["loaded"] == int(good)
    assert answer["errors"][0][1] == "checked" if good else "with parameters of" in answer["errors"][0][1]
