# SPDX-License-Identifier: MIT
"""Plugins good and bad, configurations of them, and rotad --check and --print-config run on these."""
import os
import subprocess
import uuid

import pytest

from fleet import LSAN_OPTIONS, ROOT, ROTAD, marked_processes, wait_for

INCLUDE = ROOT / "plugins" / "include"

OK, USAGE, OSERR, CONFIG = 0, 64, 71, 78
# A plugin may take 5 s in a probe; the rest is for a busy machine.
PROBE_LIMIT_S = 14

PLUGINS = {
    "good": """
        static const struct rota_param params[] = {
            { "text", ROTA_STRING, ROTA_REQUIRED, NULL, NULL, NULL, NULL, "A text." },
            { "pause", ROTA_DURATION, 0, "1s", NULL, "1m", NULL, "A pause." },
            { NULL, 0, 0, NULL, NULL, NULL, NULL, NULL },
        };
        static int run(const struct rota_run *r) { (void)r; return ROTA_SUCCEEDED; }
        static int check(const struct rota_run *r)
        {
            if (rota_string(r, "text")[0] == '!')
                return rota_fail(r, ROTA_REFUSED, "text begins with an exclamation mark");
            return ROTA_SUCCEEDED;
        }
        ROTA_PLUGIN(.name = "good", .version = "1", .summary = "s", .params = params, .run = run,
                    .check = check);
        """,
    "dies": """
        static int run(const struct rota_run *r) { (void)r; return ROTA_SUCCEEDED; }
        __attribute__((constructor)) static void die(void) { __builtin_trap(); }
        ROTA_PLUGIN(.name = "dies", .version = "1", .summary = "s", .run = run);
        """,
    "hangs": """
        static int run(const struct rota_run *r) { (void)r; return ROTA_SUCCEEDED; }
        __attribute__((constructor)) static void hang(void) { for (;;) { __asm__ volatile(""); } }
        ROTA_PLUGIN(.name = "hangs", .version = "1", .summary = "s", .run = run);
        """,
    "lacks": """
        int of_nobody(void);
        static int run(const struct rota_run *r) { (void)r; return of_nobody(); }
        ROTA_PLUGIN(.name = "lacks", .version = "1", .summary = "s", .run = run);
        """,
    "other": """
        static int run(const struct rota_run *r) { (void)r; return ROTA_SUCCEEDED; }
        const struct rota_plugin rota_plugin = { .abi = 999, .size = sizeof(struct rota_plugin),
            .param_size = sizeof(struct rota_param), .name = "other", .version = "1",
            .summary = "s", .run = run };
        """,
    "mute": "int nothing_of_rota = 1;",
}

HEAD = """prefix = "acme:";
device = "gate-1";
redis = {{ address = "unix:/nonexistent/redis.sock"; }};
plugin_dir = [ "{plugins}" ];
"""


@pytest.fixture(scope="session")
def plugins(tmp_path_factory):
    """The folder of the plugins above, built; with a text file that is no plugin."""
    folder = tmp_path_factory.mktemp("plugins")
    for name, source in PLUGINS.items():
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-I", INCLUDE, "-x", "c", "-", "-o", folder / f"{name}.so"],
            input='#include <rota/plugin.h>\n' + source, text=True, check=True)
    (folder / "prose.so").write_text("This is no plugin.\n")
    return folder


@pytest.fixture
def conf(tmp_path, plugins):
    """Writes a configuration whose jobs begin at line 5 and returns its path."""
    def write(jobs, head=HEAD):
        path = tmp_path / "rotad.conf"
        path.write_text(head.format(plugins=plugins) + jobs)
        return path
    return write


def job(name, plugin="good", every="1h", worst="10s", params='text = "x";', more=""):
    """One line."""
    return (f'{name} = {{ plugin = "{plugin}"; every = "{every}"; worst_case = "{worst}"; {more} '
            f"params = {{ {params} }}; }};\n")


def jobs(*lines):
    return "jobs = {\n" + "".join(lines) + "};\n"


def rotad(path, *args, program=ROTAD, **more):
    """Runs it with -c FILE where FILE lies, and makes sure that no process of it is left."""
    mark = f"C.{uuid.uuid4().hex}"
    done = subprocess.run([program, "-c", path.name, *args], cwd=path.parent, text=True,
                          env={"PATH": os.environ["PATH"], "LANG": mark, "LSAN_OPTIONS": LSAN_OPTIONS},
                          timeout=60,
                          **{"capture_output": True, **more})
    wait_for(lambda: not marked_processes(mark), 10, "nothing is left behind")
    return done
