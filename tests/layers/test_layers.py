# SPDX-License-Identifier: MIT
"""The layer checker on small trees with one violation each: it must report that one, and no other."""
import json
import os
import subprocess
from pathlib import Path

import pytest

import layers

CC = os.environ.get("CC", "cc")


def write(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


GOOD_INCLUDES = {
    "runtime/base/text.c": '#include "base/text.h"\n#include <stdlib.h>\n#include <unistd.h>\n',
    "runtime/core/job.c": '#include "core/job.h"\n#include "base/time.h"\n#include <assert.h>\n',
    "runtime/config/load.c": '#include "core/spec.h"\n#include <libconfig.h>\n',
    "runtime/config/config.h": '#include "base/time.h"\n#include <stdio.h>\n',
    "runtime/config/parse.h": "#include <libconfig.h>\n",
    "runtime/config/value.h": '#include "config/parse.h"\n',
    "runtime/config/value.c": '#include "config/value.h"\n',
    "runtime/redis/link.h": "#include <systemd/sd-event.h>\n",
    "runtime/redis/link.c": '#include <hiredis/hiredis.h>\n#include <sys/socket.h>\n',
    "runtime/tls/tls.h": "#include <sys/types.h>\n",
    "runtime/tls/stream.c": '#include "tls/tls.h"\n#include <openssl/ssl.h>\n#include "base/text.h"\n',
    "runtime/base/library.c": "#include <dlfcn.h>\n",
    "runtime/redis/secure.c": '#include "tls/tls.h"\n#include <dlfcn.h>\n',
    "runtime/supervisor/module.c": "#include <dlfcn.h>\n",
    "runtime/guard/load.c": '#include <dlfcn.h> /* dlsym */\n#include <rota/plugin.h>\n',
    "runtime/supervisor/main.c": '#include "config/config.h"\n#include "redis/link.h"\n',
    "plugins/exec/exec.c": '#include <rota/plugin.h>\n#include "words.h"\n#include <spawn.h>\n',
}


@pytest.mark.parametrize("name, line", [
    ("runtime/base/x.c", '#include "core/job.h"'),
    ("runtime/base/x.c", "#include <systemd/sd-event.h>"),
    ("runtime/base/x.h", "#include <zlib.h>"),
    ("runtime/core/x.c", '#include "redis/store.h"'),
    ("runtime/core/x.c", "#include <unistd.h>"),
    ("runtime/core/x.c", "#include <time.h>"),
    ("runtime/core/x.c", "#include <stdlib.h>"),
    ("runtime/core/x.h", "# include <sys/socket.h>"),
    ("runtime/ipc/x.c", '#include "core/outcome.h"'),
    ("runtime/ipc/x.c", "#include <systemd/sd-event.h>"),
    ("runtime/config/x.h", '#include "ipc/messages.h"'),
    ("runtime/config/x.c", "#include <hiredis/hiredis.h>"),
    ("runtime/redis/x.c", '#include "config/config.h"'),
    ("runtime/redis/x.c", "#include <hiredis/async.h>"),
    ("runtime/redis/x.c", "#include <openssl/ssl.h>"),
    ("runtime/supervisor/x.c", "#include <openssl/x509.h>"),
    ("runtime/tls/x.c", '#include "redis/link.h"'),
    ("runtime/tls/x.c", "#include <sys/socket.h>\n#include <systemd/sd-event.h>"),
    ("runtime/redis/x.c", "#include <systemd/sd-daemon.h>"),
    ("runtime/guard/x.c", '#include "core/timing.h"'),
    ("runtime/guard/x.c", '#include "supervisor/run.h"'),
    ("runtime/supervisor/x.c", '#include "guard/tree.h"'),
    ("runtime/config/x.c", "#include <dlfcn.h>"),
    ("runtime/supervisor/x.c", "#include <libconfig.h>"),
    ("runtime/supervisor/x.c", '#include "config/parse.h"'),
    ("runtime/supervisor/x.c", '#include "config/value.h"'),
    ("runtime/rotactl/x.c", '#include "config/config.h"'),
    ("runtime/core/x.c", '#include "rota/plugin.h"'),
    ("runtime/core/x.c", '#include "job.h"'),
    ("runtime/core/x.c", '#include "../redis/store.h"'),
    ("runtime/core/x.c", "#include HEADER"),
    ("runtime/extra/x.c", "int x;"),
    ("plugins/exec/x.c", '#include "base/text.h"'),
])
def test_include_is_reported(tmp_path, name, line):
    write(tmp_path, GOOD_INCLUDES)
    assert layers.check_includes(tmp_path) == []
    write(tmp_path, {name: f"/* first */\n{line}\n"})
    found = layers.check_includes(tmp_path)
    assert len(found) == 1 and found[0].startswith(name), found


GOOD_CALLS = {
    "runtime/base/text.c": "void *malloc(unsigned long); void *text_new(void) { return malloc(1); }",
    "runtime/base/library.c": "int dlopen(void); int library_open(void) { return dlopen(); }",
    "runtime/core/job.c": "int text_new(void); int strcmp(const char *, const char *);"
                          "int job_new(void) { return text_new() + strcmp(\"a\", (char *)job_new); }",
    "runtime/ipc/frame.c": "int send(void); int frame_send(void) { return send(); }",
    "runtime/config/load.c": "int job_new(void), config_read(void);"
                             "int config_load(void) { return job_new() + config_read(); }",
    "runtime/redis/link.c": "int redisReaderFeed(void), sd_event_add_io(void);"
                            "int link_feed(void) { return redisReaderFeed() + sd_event_add_io(); }",
    "runtime/tls/stream.c": "int text_new(void), SSL_new(void), d2i_SSL_SESSION(void);"
                            "int stream_begin(void) { return text_new() + SSL_new() + d2i_SSL_SESSION(); }",
    "runtime/redis/secure.c": "int dlsym(void); int secure_open(void) { return dlsym(); }",
    "runtime/guard/loader.c": "int dlsym(void), frame_send(void), pthread_create(void);"
                            "int load(void) { return dlsym() + frame_send() + pthread_create(); }",
    "runtime/supervisor/run.c": "int sd_notify(void), config_load(void), link_feed(void);"
                                "int run(void) { return sd_notify() + config_load() + link_feed(); }",
}


BAD_CALLS = {
    "base": ["job_new", "dlsym", "config_init"],
    "core": ["malloc", "clock_gettime", "printf", "socket", "frame_send", "link_feed"],
    "ipc": ["job_new", "sd_event_new"],
    "config": ["frame_send", "sd_event_new"],
    "redis": ["config_load", "redisAsyncCommand", "redisConnect", "sd_notify", "SSL_new"],
    "tls": ["link_feed", "dlopen", "sd_event_new"],
    "guard": ["job_new", "dlopen", "config_load", "sd_notify"],
    "supervisor": ["load", "dlopen", "redisReaderFeed", "pthread_create", "config_setting_get_int",
                   "X509_free"],
}


def calling(symbols):
    """A source that calls each of them."""
    return "".join(f"int {name}(void); int call_{name}(void) {{ return {name}(); }}\n"
                   for name in symbols)


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """What the checker says of GOOD_CALLS, and of GOOD_CALLS with BAD_CALLS, both from one compilation."""
    root = tmp_path_factory.mktemp("calls")
    bad = {f"runtime/{layer}/{layer}_x.c": calling(symbols) for layer, symbols in BAD_CALLS.items()}
    write(root, {**GOOD_CALLS, **bad})
    subprocess.run([CC, "-c", "-w", *GOOD_CALLS, *bad], cwd=root, check=True)
    answers = []
    for names in (GOOD_CALLS, {**GOOD_CALLS, **bad}):
        commands = []
        for name in names:
            output = f"{name}.o"
            compiled = root / Path(name).with_suffix(".o").name
            if compiled.exists():
                compiled.rename(root / output)
            commands.append({"directory": str(root), "command": f"{CC} -c -o {output} {name}",
                             "file": name})
        write(root, {"compile_commands.json": json.dumps(commands)})
        answers.append(layers.check_calls(root))
    return answers


def test_allowed_calls_pass(reported):
    assert reported[0] == []


@pytest.mark.parametrize("layer, symbol", [(layer, symbol) for layer in BAD_CALLS
                                           for symbol in BAD_CALLS[layer]])
def test_call_is_reported(reported, layer, symbol):
    start = f"{layer}/{layer}_x.c: calls {symbol}: "
    assert len([line for line in reported[1] if line.startswith(start)]) == 1, reported[1]


def test_no_other_call_is_reported(reported):
    assert len(reported[1]) == sum(map(len, BAD_CALLS.values()))


def test_a_build_without_objects_is_reported(tmp_path):
    write(tmp_path, {"compile_commands.json": "[]"})
    assert layers.check_calls(tmp_path) == ["no object file of any layer was built"]


def link(path, text, *flags):
    write(path.parent, {"x.c": text})
    subprocess.run([CC, "-w", "-o", path, path.parent / "x.c", *flags], check=True)
    return path


def test_needed_library_is_reported(tmp_path):
    main = "int main(void) { return 0; }"
    plain = link(tmp_path / "plain", main)
    more = link(tmp_path / "more", main, "-Wl,--no-as-needed", "-lm")
    assert layers.check_needed(plain, set(), False) == []
    assert layers.check_needed(more, {"libm"}, False) == []
    assert layers.check_needed(more, set(), True) == []
    assert layers.check_needed(more, set(), False) == ["more: needs libm.so.6, which it must not"]
    assert len(layers.check_needed(plain, {"libm"}, False)) == 1


def test_plugin_export_is_reported(tmp_path):
    shared = ("-shared", "-fPIC")
    good = link(tmp_path / "good.so", "const int rota_plugin = 1;", *shared)
    more = link(tmp_path / "more.so", "const int rota_plugin = 1; int helper;", *shared)
    none = link(tmp_path / "none.so", "static int x;", *shared)
    assert layers.check_exports(good, "rota_plugin") == []
    assert layers.check_exports(more, "rota_plugin") == [
        "more.so: exports helper; it may export rota_plugin alone"]
    assert layers.check_exports(none, "rota_plugin") == ["none.so: does not export rota_plugin"]


def test_what_is_lent_to_nobody_is_reported(tmp_path):
    modules = [link(tmp_path / f"{name}.so", f"int {name}(void); int call(void) {{ return {name}(); }}", "-shared", "-fPIC")
               for name in ("used", "other")]
    write(tmp_path, {"lent.list": "/* Of\n * both. */\n{\n    unused;\n    used;\n    other;\n};\n"})
    assert layers.check_lent(tmp_path / "lent.list", modules) == ["lent.list: unused is lent, and no module calls it"]


def test_missing_program_is_reported(tmp_path):
    assert len(layers.check_programs(tmp_path, False)) == len(layers.PROGRAMS)
