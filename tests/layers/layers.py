#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each layer includes, calls and links only what the house style's table allows it.

usage: layers.py SOURCE BUILD [--pure] [--sanitized]

Prints one line a violation, and ends with status 1 if there is any.
SOURCE  the source tree
BUILD   a build tree of it, complete
--pure       only base and core were built: there are no programs
--sanitized  programs also need the sanitizers' libraries
"""
import argparse
import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

C_STANDARD = {
    "assert.h", "ctype.h", "errno.h", "inttypes.h", "limits.h", "locale.h", "math.h", "setjmp.h",
    "signal.h", "stdalign.h", "stdarg.h", "stdatomic.h", "stdbool.h", "stddef.h", "stdint.h",
    "stdio.h", "stdlib.h", "stdnoreturn.h", "string.h", "strings.h", "time.h", "wchar.h",
}
# What says nothing about the world outside: stdio.h for snprintf, which the symbols bear out.
PURE = {
    "assert.h", "errno.h", "inttypes.h", "limits.h", "stdarg.h", "stdbool.h", "stddef.h",
    "stdint.h", "stdio.h", "string.h",
}
LIBC = C_STANDARD | {
    "dirent.h", "elf.h", "fcntl.h", "fnmatch.h", "getopt.h", "glob.h", "grp.h", "ifaddrs.h",
    "langinfo.h", "libgen.h", "link.h", "malloc.h", "netdb.h", "paths.h", "poll.h", "pwd.h", "sched.h",
    "search.h", "shadow.h", "spawn.h", "sysexits.h", "syslog.h", "termios.h", "unistd.h", "wait.h",
}
LIBC_FOLDERS = ("sys/", "linux/", "asm/", "net/", "netinet/", "arpa/")


@dataclass(frozen=True)
class Layer:
    uses: tuple = ()            # the layers that it may include and call, besides itself
    headers: frozenset = frozenset()    # system headers besides libc's
    pure: bool = False          # no system call, no clock, no allocation
    plugin_contract: bool = False       # may include rota/plugin.h
    calls: tuple = ()           # patterns of symbols that others must not call


OPENSSL = (r"(SSL|X509|BIO|ERR|EVP|PEM|ASN1|OPENSSL|GENERAL_NAMES?|[di]2[di])_\w+",)

LAYERS = {
    "base": Layer(headers=frozenset({"dlfcn.h"}), calls=("dlopen",)),
    "core": Layer(uses=("base",), pure=True),
    "ipc": Layer(uses=("base",)),
    "config": Layer(
        uses=("base", "core"),
        headers=frozenset({"libconfig.h"}),
        calls=("config_.*",),
    ),
    # Nobody is linked with it: redis loads it, and knows its header.
    "tls": Layer(
        uses=("base",),
        headers=frozenset({"openssl/bio.h", "openssl/crypto.h", "openssl/err.h", "openssl/pem.h",
                           "openssl/ssl.h", "openssl/x509.h", "openssl/x509_vfy.h", "openssl/x509v3.h"}),
        calls=OPENSSL,
    ),
    "redis": Layer(
        uses=("base", "core", "tls"),
        headers=frozenset({"dlfcn.h", "hiredis/hiredis.h", "hiredis/read.h", "systemd/sd-event.h"}),
        calls=("dlsym", "sd_event_.*", "redisReader.*", "redisFormat.*", "freeReplyObject",
               "redisFreeCommand", "redisFreeSdsCommand"),
    ),
    "guard": Layer(
        uses=("base", "ipc"),
        headers=frozenset({"dlfcn.h", "pthread.h"}),
        plugin_contract=True,
        calls=("dlsym", "pthread_.*"),
    ),
    "supervisor": Layer(
        uses=("base", "core", "ipc", "config", "redis", "tls"),
        headers=frozenset({"dlfcn.h", "systemd/sd-event.h", "systemd/sd-daemon.h", "systemd/sd-journal.h",
                           "systemd/sd-bus.h", "systemd/sd-id128.h"}),
        plugin_contract=True,
        calls=("dlsym", "sd_.*"),
    ),
    "rotactl": Layer(
        uses=("base",),
        headers=frozenset({"systemd/sd-bus.h", "libsmartcols/libsmartcols.h"}),
        calls=("sd_.*", "scols_.*"),
    ),
}

# Calls that belong to the layers which name them in `calls`, and to no other. What a layer of ours
# exports is looked at before: config_load is ours, every other config_... is libconfig's.
RESERVED = re.compile(
    r"sd_[a-z]\w*|redis[A-Z]\w*|freeReplyObject|dl(open|sym|close)|pthread_create|scols_\w+"
    r"|config_\w+|" + OPENSSL[0])

# What core's object files may call outside core and base. Compiler helpers: stack protector, 64-bit
# division of 32-bit processors, bits counted where no instruction does it, fortified copies, sanitizers,
# coverage.
CORE_CALLS = re.compile(
    r"mem(cpy|move|set|cmp|chr)|str(len|nlen|cmp|ncmp|chr|rchr|spn|cspn)|v?snprintf"
    r"|__(memcpy|memmove|memset|snprintf|vsnprintf)_chk"
    r"|__assert_fail|__stack_chk_fail(_local)?|_GLOBAL_OFFSET_TABLE_"
    r"|__u?(div|mod|divmod)di[34]|__u?mulodi4|__aeabi_u?[il](div|divmod)"
    r"|__(popcount|clz|ctz)[sd]i2"
    r"|__(asan|ubsan|sanitizer|odr_asan|gcov)_\w+")

LIBC_PARTS = re.compile(r"libc\.so\.\d+|ld-linux.*|lib(dl|pthread|rt)\.so\.\d+")
SANITIZER_PARTS = re.compile(r"lib(asan|ubsan|gcc_s|m|resolv)\.so\.\d+")

# The libraries that each program must need, exactly, besides libc.
PROGRAMS = {
    "runtime/supervisor/rotad": {"libsystemd", "libhiredis", "libconfig"},
    "runtime/guard/rota-guard": set(),
    "runtime/rotactl/rotactl": {"libsystemd", "libsmartcols"},
    "runtime/supervisor/librota-check.so": {"libsystemd"},
    "runtime/supervisor/librota-control.so": {"libsystemd"},
    "runtime/supervisor/librota-local.so": {"libsystemd"},
    "runtime/supervisor/librota-topology.so": {"libsystemd"},
    "runtime/tls/librota-tls.so": {"libssl", "libcrypto"},
    "plugins/exec.so": set(),
    "plugins/pg_fenced.so": {"libpq"},
    "plugins/pg_queue.so": {"libpq"},
    "plugins/prune.so": set(),
    "plugins/unit.so": {"libsystemd"},
}

INCLUDE = re.compile(r"^\s*#\s*include\s*(.*?)\s*(?:/\*.*)?$")


def layer_include(layer, folder_ok, target):
    """Why `layer` may not include `target` ('"a/b.h"' or '<c.h>'); None if it may."""
    kind, path = target[:1], target[1:-1]
    if path == "rota/plugin.h":
        return None if layer.plugin_contract else "the plugin contract is not for this layer"
    if kind == '"':
        folder = path.split("/")[0]
        if "/" not in path or folder not in LAYERS:
            return "write \"folder/file.h\", from runtime/"
        return None if folder in folder_ok else f"may not use {folder}"
    if kind != "<":
        return "a macro hides what is included"
    if path in layer.headers:
        return None
    if layer.pure:
        return None if path in PURE else "core includes only pure headers of libc"
    if path in LIBC or path.startswith(LIBC_FOLDERS):
        return None
    return "neither libc nor a library of this layer"


def plugin_include(target):
    kind, path = target[:1], target[1:-1]
    if kind == '"' and path != "rota/plugin.h" and "/" in path:
        return "a plugin uses rota/plugin.h and its own files, nothing of runtime/"
    return None


def includes_of(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def libraries_reached(runtime):
    """The libraries' headers that each header of ours includes, itself or through others of ours."""
    direct = {str(path.relative_to(runtime)): [target for _, target in includes_of(path)]
              for path in runtime.rglob("*.h")}

    def reach(name, seen):
        found = set()
        for target in direct.get(name, ()):
            path = target[1:-1]
            if target.startswith("<"):
                if path not in LIBC and not path.startswith(LIBC_FOLDERS):
                    found.add(path)
            elif path not in seen:
                found |= reach(path, seen | {path})
        return found

    return {name: reach(name, {name}) for name in direct}


def why_not_reach(layer, target, reached):
    """Why `layer` may not include this header of ours for what that includes; None if it may."""
    if not target.startswith('"'):
        return None
    for library in sorted(reached.get(target[1:-1], ())):
        why = layer_include(layer, (), f"<{library}>")
        if why:
            return f"which includes <{library}>: {why}"
    return None


def check_includes(source):
    found = []
    reached = libraries_reached(source / "runtime")
    for path in sorted((source / "runtime").rglob("*.[ch]")):
        name = path.relative_to(source / "runtime").parts[0]
        where = path.relative_to(source)
        if name not in LAYERS:
            found.append(f"{where}: {name} is no layer")
            continue
        layer = LAYERS[name]
        for number, target in includes_of(path):
            why = (layer_include(layer, layer.uses + (name,), target)
                   or why_not_reach(layer, target, reached))
            if why:
                found.append(f"{where}:{number}: includes {target}: {why}")
    for path in sorted((source / "plugins").rglob("*.[ch]")):
        for number, target in includes_of(path):
            why = plugin_include(target)
            if why:
                found.append(f"{path.relative_to(source)}:{number}: includes {target}: {why}")
    return found


def objects_by_layer(build):
    """The layer of each object file that the build's compile commands name."""
    objects = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        parts = Path(output).parts
        if parts[0] == "runtime" and parts[1] in LAYERS:
            objects[str(Path(entry["directory"]) / output)] = parts[1]
    return objects


def nm(*arguments):
    """Rows (file, symbol, type), the symbol without its version."""
    output = subprocess.run(["nm", "-P", "-A", *map(str, arguments)], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    for line in output.splitlines():
        path, rest = line.split(": ", 1)
        symbol, kind = rest.split()[:2]
        yield path, symbol.split("@")[0], kind


def why_not_call(name, symbol, gives):
    """Why layer `name` may not call `symbol`; None if it may. gives: what each layer exports."""
    layer = LAYERS[name]
    owners = [other for other in LAYERS if symbol in gives[other]]
    if owners:
        if any(owner == name or owner in layer.uses for owner in owners):
            return None
        return f"it is {owners[0]}'s, which {name} may not use"
    if layer.pure and not CORE_CALLS.fullmatch(symbol):
        return "core decides, it does not act"
    if RESERVED.fullmatch(symbol) and not any(re.fullmatch(p, symbol) for p in layer.calls):
        return f"it is not {name}'s to call"
    return None


def check_calls(build):
    found = []
    gives = {name: set() for name in LAYERS}
    calls = []
    objects = objects_by_layer(build)
    if not objects:
        return ["no object file of any layer was built"]
    for path, symbol, kind in nm("-g", *objects):
        if kind in "Uwv":
            calls.append((objects[path], Path(path).stem, symbol))
        else:
            gives[objects[path]].add(symbol)
    for name, file, symbol in calls:
        why = why_not_call(name, symbol, gives)
        if why:
            found.append(f"{name}/{file}: calls {symbol}: {why}")
    return found


def needed(path):
    output = subprocess.run(["readelf", "-d", "-W", str(path)], check=True, text=True,
                            stdout=subprocess.PIPE).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output)


def check_needed(path, expected, sanitized):
    """Whether the program needs exactly the expected libraries besides libc."""
    found = []
    libraries = set()
    for library in needed(path):
        if LIBC_PARTS.fullmatch(library) or (sanitized and SANITIZER_PARTS.fullmatch(library)):
            continue
        libraries.add(library.split(".so")[0])
        if library.split(".so")[0] not in expected:
            found.append(f"{path.name}: needs {library}, which it must not")
    for missing in sorted(expected - libraries):
        found.append(f"{path.name}: does not need {missing}; the table says that it does")
    return found


def check_exports(path, symbol):
    symbols = {s for _, s, _ in nm("-D", "--defined-only", path) if not s.startswith("__odr_asan")}
    return [f"{path.name}: exports {s}; it may export {symbol} alone"
            for s in sorted(symbols - {symbol})] + (
        [] if symbol in symbols else [f"{path.name}: does not export {symbol}"])


def check_lent(listed, modules):
    """What a program exports stays in it, whether anybody calls it or not."""
    called = {s for _, s, _ in nm("-D", "--undefined-only", *modules)}
    return [f"{listed.name}: {name} is lent, and no module calls it"
            for name in re.findall(r"^ *(\w+);", listed.read_text(encoding="utf-8"), re.M) if name not in called]


def check_programs(build, sanitized):
    found = []
    for name, expected in PROGRAMS.items():
        path = build / name
        if not path.exists():
            found.append(f"{name}: was not built")
            continue
        found += check_needed(path, expected, sanitized)
    for path in sorted((build / "plugins").glob("*.so")):
        found += check_exports(path, "rota_plugin")
    for module, symbol in (("tls/librota-tls.so", "rota_tls"), ("supervisor/librota-check.so", "rota_check"),
                           ("supervisor/librota-control.so", "rota_control"), ("supervisor/librota-local.so", "rota_local"),
                           ("supervisor/librota-topology.so", "rota_topology")):
        if (build / "runtime" / module).exists():
            found += check_exports(build / "runtime" / module, symbol)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("build", type=Path)
    parser.add_argument("--pure", action="store_true")
    parser.add_argument("--sanitized", action="store_true")
    options = parser.parse_args()

    found = check_includes(options.source) + check_calls(options.build)
    if not options.pure:
        found += check_programs(options.build, options.sanitized)
        found += check_lent(options.source / "runtime/supervisor/lent.list",
                            [options.build / f"runtime/supervisor/librota-{name}.so" for name in ("check", "control", "local", "topology")])
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
