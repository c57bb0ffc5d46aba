# SPDX-License-Identifier: MIT
"""docs/plugins.md: its plugins are built and run as an author would; rota-plugin(5) names all of rota/plugin.h."""
import os
import re
import shutil
import signal
import subprocess
import threading

import guard_harness as h
import pages
import pytest
from plugin_header import STRUCTS, bare, members

PAGE = h.ROOT / "docs" / "plugins.md"
REFERENCE = h.ROOT / "docs" / "rota-plugin.5.scd"
HEADERS = h.ROOT / "plugins" / "include"
pytestmark = pytest.mark.skipif(h.SANITIZED, reason="one build of the installed files is enough")
STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", "-fvisibility=hidden"]


def block(mark):
    """The text of the fenced block after the comment that begins with `mark`."""
    return re.search(rf"<!-- {re.escape(mark)}: .*?-->\n```\w*\n(.*?)```", PAGE.read_text(), re.S)[1]


def run(*command, **options):
    return subprocess.run([str(word) for word in command], text=True, timeout=120, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, **options)


def well(*command, **options):
    done = run(*command, **options)
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A system with rota on it."""
    folder = tmp_path_factory.mktemp("root")
    well("cmake", "--install", h.BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": str(folder)})
    return folder


def header_flags(root):
    return ["-I", str(root / "usr/include")]


def try_plugin(plugin, *params, seconds="20s"):
    return run(h.GUARD, "--try", "--worst-case", seconds, plugin, *params)


def check_await_file(plugin, folder):
    """What the plugin does, in whatever language."""
    # Templates of the C++ library are weak, and visible whatever is asked for.
    exported = [line.split()[1:] for line in well("nm", "-D", "--defined-only", plugin).splitlines()]
    assert [name for kind, name in exported if kind not in "WVu"] == ["rota_plugin"]
    described = well(h.GUARD, "--describe", plugin)
    assert described.startswith("plugin: await_file\nversion: 1\ncontract: 1\nsummary: Waits until a file is there.\n")
    assert "\nparameter: look\n  type: duration\n  default: 1s\n  min: 10ms\n  max: 1m\n  help: " in described
    there, later = folder / "there", folder / "later"
    there.touch()
    done = try_plugin(plugin, f"path={there}")
    assert done.returncode == 0 and f"{there} is there" in done.stdout, done.stdout
    # It comes while the plugin waits.
    timer = threading.Timer(0.4, later.touch)
    timer.start()
    done = try_plugin(plugin, f"path={later}", "look=20ms")
    timer.join()
    assert done.returncode == 0 and "waiting" in done.stdout, done.stdout
    # Asked to stop, it comes back by itself: long before its grace is over, and although it looks once a minute.
    done = try_plugin(plugin, f"path={folder}/never", "look=1m", seconds="300ms")
    assert done.returncode == 1 and re.search(r"^declined after \d+ ms, stopped at its worst case: \S+/never did not "
                                              r"come$", done.stdout, re.M), done.stdout
    done = try_plugin(plugin, f"path={folder}/")
    assert done.returncode == 78 and f"path is {folder}/; write a file's name" in done.stdout, done.stdout
    done = try_plugin(plugin, "path=x", "look=1h")
    assert done.returncode == 78 and "path is \"x\"; write an absolute path" in done.stdout


@pytest.mark.parametrize("compiler", [["gcc", "-std=c11"], ["clang", "-std=c17"]], ids=lambda words: words[0])
def test_in_c(root, tmp_path, compiler):
    if not shutil.which(compiler[0]):
        pytest.skip(f"there is no {compiler[0]} here")
    (tmp_path / "await_file.c").write_text(block("await_file.c"))
    well(*compiler, "-D_GNU_SOURCE", *STRICT, *header_flags(root), "-o", "await_file.so", "await_file.c", cwd=tmp_path)
    check_await_file(tmp_path / "await_file.so", tmp_path)


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_in_cpp(root, tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler} here")
    (tmp_path / "await_file.cc").write_text(block("await_file.cc"))
    well(compiler, "-std=c++20", *STRICT, "-fvisibility-inlines-hidden", *header_flags(root), "-o", "await_file.so",
         "await_file.cc", cwd=tmp_path)
    check_await_file(tmp_path / "await_file.so", tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("rustc"), reason="there is no rustc here; ./quickstart test --all installs it")
def test_in_rust(tmp_path):
    binding = block("rota.rs")
    (tmp_path / "rota.rs").write_text(binding)
    (tmp_path / "await_file.rs").write_text(block("await_file.rs"))
    well("sh", "-e", "-c", block("rust"), cwd=tmp_path)
    check_await_file(tmp_path / "await_file.so", tmp_path)


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("rustc"), reason="there is no rustc here; ./quickstart test --all installs it")
def test_panic_in_rust(tmp_path):
    (tmp_path / "rota.rs").write_text(block("rota.rs"))
    (tmp_path / "await_file.rs").write_text(block("await_file.rs").replace(
        'r.progress(-1.0, "waiting");', 'panic!("not in my house");'))
    well("sh", "-e", "-c", block("rust"), cwd=tmp_path)
    ended, guard = h.run(tmp_path / "await_file.so", {"path": str(tmp_path / "never")})
    assert (ended["how"], ended["code"], ended["clean"]) == (h.SIGNALLED, signal.SIGABRT, 1)
    assert "not in my house" in "\n".join(guard.lines(2))


def test_rust_binding_has_each_member_in_its_place():
    """Without a compiler too: the structs are those of the header, member by member, and so are the numbers."""
    text, binding = bare(HEADERS), block("rota.rs")
    assert len(binding.splitlines()) <= 60
    for struct, rust in (("rota_param", "Param"), ("rota_run", "Run"), ("rota_plugin", "Plugin")):
        body = re.search(rf"pub struct {rust} \{{(.*?)\n\}}", binding, re.S)[1]
        names = [name for name in re.findall(r"(?:pub )?(\w+): (?:extern|Text|u\d|i\d|c_int|\*|Option)", body)]
        assert [name.replace("kind", "type") for name in names] == members(text, struct)
    for name, number in re.findall(r"^pub const (\w+): \w+ = (\d+);", binding, re.M):
        assert re.search(rf"\bROTA_{name} = {number}(?!\d)", text), name


def test_the_lines_by_hand(root, tmp_path):
    (tmp_path / "await_file.c").write_text(block("await_file.c"))
    # As if it had been built for where it is.
    prefix = re.search(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", (h.BUILD / "CMakeCache.txt").read_text(), re.M)[1]
    pc = (root / "usr/share/pkgconfig/rota.pc").read_text()
    (tmp_path / "rota.pc").write_text(pc.replace(prefix, f"{root}/usr"))
    out = well("sh", "-e", "-c", block("by hand"), cwd=tmp_path,
               env={**os.environ, "PKG_CONFIG_PATH": str(tmp_path)})
    assert "\nparameter: path\n" in out and "/etc/passwd is there" in out


def configure(folder, root, *options):
    return run("cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build", "-DCMAKE_BUILD_TYPE=Release",
               f"-DCMAKE_PREFIX_PATH={root}/usr", "-DCMAKE_INSTALL_PREFIX=/usr", *options)


def test_cmake_package(root, tmp_path):
    """From outside the tree."""
    (tmp_path / "await_file.c").write_text(block("await_file.c"))
    (tmp_path / "CMakeLists.txt").write_text(block("CMakeLists.txt"))
    done = configure(tmp_path, root)
    assert done.returncode == 0, done.stdout
    well("cmake", "--build", tmp_path / "build")
    there = tmp_path / "there"
    well("cmake", "--install", tmp_path / "build", env={**os.environ, "DESTDIR": str(there)})
    installed = there / "usr/lib/rota"
    assert sorted(path.name for path in installed.iterdir()) == ["await_file.description", "await_file.so"]
    plugin = installed / "await_file.so"
    check_await_file(plugin, tmp_path)
    assert (installed / "await_file.description").read_text() == well(h.GUARD, "--describe", plugin)


HELPER = 'extern "C" __attribute__((visibility("default"))) int helped() { return 4; }\n'
HELPED = """
#include <filesystem>
#include <rota/plugin.h>
extern "C" int helped();
static int run(const rota_run *r) { return std::filesystem::exists(r->job) ? ROTA_FAILED : helped(); }
ROTA_PLUGIN(.needs = 0, .name = "helped", .version = "1", .summary = "Helped.", .params = nullptr, .run = run,
            .check = nullptr);
"""


def test_cmake_package_with_a_library_in_cpp(root, tmp_path):
    (tmp_path / "helper.cc").write_text(HELPER)
    (tmp_path / "helped.cc").write_text(HELPED)
    text = block("CMakeLists.txt").replace("LANGUAGES C)", "LANGUAGES CXX)")
    (tmp_path / "CMakeLists.txt").write_text(text.replace(
        "rota_add_plugin(await_file SOURCES await_file.c)",
        "set(CMAKE_CXX_STANDARD 20)\nset(CMAKE_POSITION_INDEPENDENT_CODE ON)\nadd_library(helper STATIC helper.cc)\n"
        "rota_add_plugin(helped SOURCES helped.cc LINKS helper NO_INSTALL)"))
    done = configure(tmp_path, root)
    assert done.returncode == 0, done.stdout
    well("cmake", "--build", tmp_path / "build")
    plugin = tmp_path / "build/helped.so"
    assert well("nm", "-D", "--defined-only", "--format=just-symbols", plugin).split() == ["rota_plugin"]
    assert re.search(r"^declined after", try_plugin(plugin).stdout, re.M)
    well("cmake", "--install", tmp_path / "build", env={**os.environ, "DESTDIR": str(tmp_path / "there")})
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize("line, said", [
    ("rota_add_plugin(await_file await_file.c)", "write rota_add_plugin(await_file SOURCES file..."),
    ("rota_add_plugin(Await SOURCES await_file.c)", "a plugin is called 'Await'; write a-z, then"),
])
def test_cmake_mistake_says_what_to_write(root, tmp_path, line, said):
    (tmp_path / "CMakeLists.txt").write_text(block("CMakeLists.txt").replace(
        "rota_add_plugin(await_file SOURCES await_file.c)", line))
    done = configure(tmp_path, root)
    assert done.returncode != 0 and said in " ".join(done.stdout.split())


@pytest.mark.parametrize("emulated", [False, True])
def test_cmake_for_another_machine(root, tmp_path, emulated):
    """There rota-guard does not run as it is."""
    emulator, options = tmp_path / "emulator", ["-DCMAKE_SYSTEM_NAME=Linux"]
    emulator.write_text('#!/bin/sh\necho "emulated $*"\n')
    emulator.chmod(0o755)
    if emulated:
        options.append(f"-DCMAKE_CROSSCOMPILING_EMULATOR={emulator}")
    (tmp_path / "await_file.c").write_text(block("await_file.c"))
    (tmp_path / "CMakeLists.txt").write_text(block("CMakeLists.txt"))
    done = configure(tmp_path, root, *options)
    assert done.returncode == 0, done.stdout
    well("cmake", "--build", tmp_path / "build")
    plugin, description = tmp_path / "build/await_file.so", tmp_path / "build/await_file.description"
    assert plugin.exists() and description.exists() == emulated
    if emulated:
        assert description.read_text() == f"emulated {root}/usr/libexec/rota-guard --describe {plugin}\n"


def test_plugin_with_a_mistake_does_not_build(root, tmp_path):
    (tmp_path / "await_file.c").write_text(block("await_file.c").replace('.def = "1s"', '.def = "1"').replace(
        '.min = "10ms"', '.min = "often"'))
    (tmp_path / "CMakeLists.txt").write_text(block("CMakeLists.txt"))
    assert configure(tmp_path, root).returncode == 0
    done = run("cmake", "--build", tmp_path / "build")
    assert done.returncode != 0 and "'look', has a min that is no value of its type" in done.stdout


def names_of_the_header():
    text = bare(HEADERS)
    names = set(re.findall(r"\b(ROTA_[A-Z_]+)\b", text)) | set(re.findall(r"\b(rota_\w+)\(", text))
    for struct in STRUCTS:
        names |= set(members(text, struct))
    return names - {"ROTA_PLUGIN_H"}


def test_every_name_of_the_header_is_on_the_page():
    named = {word for _, words in pages.spans(REFERENCE) for word in re.findall(r"\w+", words)}
    assert len(names_of_the_header()) > 70
    assert names_of_the_header() - named == set()


def test_the_pages_name_nothing_that_is_not_there():
    text = PAGE.read_text() + REFERENCE.read_text().replace("\\", "")
    named = {name.rstrip("_") for name in re.findall(r"\b(rota_\w+|ROTA_[A-Z_]+)\b", text)}
    known = names_of_the_header() | {"rota_plugin", "rota_param", "rota_run"}
    assert named - known == {"rota_add_plugin", "ROTA_GUARD"}


@pytest.mark.parametrize("page, words, header, name", [
    ("plugins.md", "a line of more than {} bytes is cut", "output.h", "OUTPUT_LINE_MAX"),
    ("rota-plugin.5.scd", "it takes none. At most {}.", "loader.h", "PLUGIN_PARAMS_MAX"),
    ("rotad.8.scd", "Of a line {} bytes are shown", "output.h", "OUTPUT_LINE_MAX"),
    ("rotad.8.scd", "Of a run {} lines are shown at once", "report.h", "REPORT_BURST_LINES"),
    ("rotad.8.scd", "after that {} a second", "report.h", "REPORT_LINES_PER_SECOND"),
    ("rotad.8.scd", "or {} bytes a line", "report.h", "REPORT_HELD_LINE_BYTES"),
])
def test_figures_are_those_of_the_code(page, words, header, name):
    """As they stand there; rotad(8) says of output what the page does not."""
    text = (h.ROOT / "runtime" / "guard" / header).read_text()
    figure = int(re.search(rf"^#define {name} \D*(\d+)", text, re.M)[1])
    assert words.format(f"{figure:,}") in " ".join((h.ROOT / "docs" / page).read_text().split())


def test_each_fenced_block_is_built_or_marked():
    """But for the drawings, and the line about a member that is not there yet."""
    text = PAGE.read_text()
    marked = len(re.findall(r"-->\n```\w", text))
    fences = re.findall(r"^```(\w*)\n", text, re.M)
    assert len([language for language in fences if language]) == marked + 1


def test_worker_and_probe_are_as_the_table_says(folder):
    """Where a constructor, check() and run() are, whether a destructor is ever called, and as whom."""
    source = folder / "places.c"
    source.write_text("""
#include <rota/plugin.h>
#include <stdlib.h>
#include <unistd.h>
static int loader;
static void note(const char *what)
{
    FILE *f = fopen(NOTE, "a");
    fprintf(f, "%s %d %d %d\\n", what, (int)getpid(), (int)getppid(), loader);
    fclose(f);
}
static void at_exit(void) { note("exit"); }
__attribute__((constructor)) static void load(void) { loader = (int)getpid(); note("load"); atexit(at_exit); }
__attribute__((destructor)) static void unload(void) { note("unload"); }
static int run(const struct rota_run *r) { (void)r; note("run"); return ROTA_SUCCEEDED; }
static int check(const struct rota_run *r)
{
    note(r->purpose == ROTA_FOR_CHECK && !*r->device ? "check" : "?");
    return ROTA_SUCCEEDED;
}
ROTA_PLUGIN(.name = "places", .version = "1", .summary = "x", .run = run, .check = check);
""")
    note = folder / "places.note"
    plugin = h.compile_plugin(folder, source, None, [f'NOTE="{note}"'])
    with h.Guard("--probe") as guard:
        for index in range(2):
            assert guard.probe(plugin, index=index)["errors"] == []
        guard.close()
    probe = [line.split() for line in note.read_text().splitlines()]
    assert [line[0] for line in probe] == ["load", "check", "check"]
    load, first, second = probe
    assert first[2] == second[2] == load[1] and len({load[1], first[1], second[1]}) == 3
    note.unlink()
    ended, guard = h.run(plugin)
    assert ended["result"] == h.SUCCEEDED
    worker = [line.split() for line in note.read_text().splitlines()]
    assert [line[0] for line in worker] == ["load", "run"]
    assert {line[1] for line in worker} == {str(guard.worker)}
