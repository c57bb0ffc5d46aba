# SPDX-License-Identifier: MIT
"""rota/plugin.h, read as text."""
import re

STRUCTS = ("rota_param", "rota_run", "rota_plugin")


def text_of(include):
    return (include / "rota" / "plugin.h").read_text()


def bare(include):
    """Without comments."""
    return re.sub(r"/\*.*?\*/", "", text_of(include), flags=re.S)


def members(text, struct):
    """In their order; of a pointer to a function, its name."""
    body = re.search(rf"struct {struct} \{{(.*?)\n\}};", text, re.S)[1]
    names = []
    for declaration in body.split(";"):
        function = re.search(r"\(\*(\w+)\)\(", declaration)
        names += [function[1]] if function else re.findall(r"(\w+)\s*(?:,|$)", declaration.strip())
    return names
