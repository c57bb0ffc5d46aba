# SPDX-License-Identifier: MIT
"""Reads the text of rotactl metrics, strictly: what a collector might stumble over is a fault here."""
import collections
import re

Family = collections.namedtuple("Family", "type unit help samples")

NAME = r"[a-z][a-z0-9_]*[a-z0-9]"
LABEL = rf'({NAME})="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?\d+(?:\.\d+)?)")
UNITS = ("seconds", "bytes")
HEADS = ("HELP", "TYPE", "UNIT")


class Mistake(Exception):
    pass


def demand(condition, what):
    if not condition:
        raise Mistake(what)


def unescaped(value):
    return re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], value)


def labels_of(text):
    labels = [(found[1], unescaped(found[2])) for found in re.finditer(LABEL, text or "")]
    demand(len(labels) == len(dict(labels)), f"a label twice: {text}")
    return labels


def read(text, strict=False):
    """{family: Family}, where samples are {labels: value} and labels a tuple of pairs. strict: as OpenMetrics 1.0 has it,
    where the heads of a counter have its name without _total."""
    demand(text.endswith("\n# EOF\n") and text.count("# EOF") == 1, "no EOF at the end, and nowhere else")
    families, name, heads = {}, None, {}
    for line in text.split("\n")[:-2]:
        head = re.fullmatch(rf"# (HELP|TYPE|UNIT) ({NAME}) (\S.*)", line)
        if head:
            if head[2] != name:
                name, heads = head[2], {}
                demand(name not in families, f"{name} is in two places")
                families[name] = Family(None, None, None, {})
            demand(not families[name].samples, f"a head behind samples: {line}")
            demand(head[1] not in heads, f"twice: {line}")
            heads[head[1]] = head[3]
            families[name] = Family(heads.get("TYPE"), heads.get("UNIT"), heads.get("HELP"), {})
            continue
        sample = SAMPLE.fullmatch(line)
        demand(sample, f"no sample: {line!r}")
        demand(name is not None, f"no head: {line}")
        total = "_total" if strict and heads.get("TYPE") == "counter" else ""
        demand(sample[1] == name + total, f"of another family: {line}")
        labels = tuple(labels_of(sample[2]))
        demand(labels not in families[name].samples, f"twice: {line}")
        families[name].samples[labels] = float(sample[sample.lastindex])
    for name, family in families.items():
        check(name, family, strict)
    return families


def check(name, family, strict):
    demand(family.type in ("gauge", "counter"), f"{name} has no type")
    demand(family.help and family.help[-1] in ".)", f"{name} has no help")
    counts = family.type == "counter"
    demand(name.endswith("_total") == (counts and not strict), f"{name} is a {family.type}")
    base = name.removesuffix("_total")
    unit = base.rsplit("_", 1)[1]
    demand((unit if unit in UNITS else None) == family.unit, f"{name} has the unit {family.unit}")
    demand(not counts or all(value >= 0 for value in family.samples.values()), f"{name} is below 0")


def value(families, name, **labels):
    """Of one sample; None where it is not there."""
    found = [number for pairs, number in families[name].samples.items() if dict(pairs) == labels]
    return found[0] if found else None
