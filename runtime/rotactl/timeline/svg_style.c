/* SPDX-License-Identifier: MIT */
#include "rotactl/timeline/svg_parts.h"
#include "rotactl/timeline/timeline_look.h"

/* In light, then what is other in the dark. The fills of the outcomes do for both. */
static const char style[] =
    "<style>\n"
    ".rota text{fill:#1f2328}.rota .quiet{fill:#59636e}.rota .paper{fill:#fff}\n"
    ".rota .lane{fill:#f4f6f8}.rota .rule{stroke:#d6dbe1}.rota .day{stroke:#8c959f}\n"
    ".rota .bar{stroke:#1f2328;stroke-opacity:.45;stroke-width:.5}\n"
    ".rota .hatch{fill:none;stroke:#fff;stroke-width:1.3;stroke-opacity:.75}\n"
    ".rota .mark{fill:none;stroke:#1f2328;stroke-width:1.4}\n"
    ".rota .due{stroke:#59636e}.rota .drop{stroke:#59636e;stroke-opacity:.25}\n"
    ".rota .coming{stroke-dasharray:2 2}\n"
    ".rota .gap{fill:#d1242f;fill-opacity:.14}\n"
    ".rota .gone{fill:#fff;stroke:#d1242f;stroke-width:1.6}\n"
    ".rota .over{fill:none;stroke:#8250df;stroke-width:1.3}.rota .tip{fill:#8250df}\n"
    ".rota .now{stroke:#0969da;stroke-dasharray:4 2}\n"
    "@media(prefers-color-scheme:dark){\n"
    ".rota text{fill:#e6edf3}.rota .quiet{fill:#9198a1}.rota .paper{fill:#0d1117}\n"
    ".rota .lane{fill:#161b22}.rota .rule{stroke:#2a313c}.rota .day{stroke:#656c76}\n"
    ".rota .bar{stroke:#e6edf3}.rota .hatch{stroke:#0d1117}.rota .mark{stroke:#e6edf3}\n"
    ".rota .due{stroke:#9198a1}.rota .drop{stroke:#9198a1}\n"
    ".rota .gap{fill:#f85149;fill-opacity:.2}.rota .gone{fill:#0d1117;stroke:#f85149}\n"
    ".rota .over{stroke:#b18aff}.rota .tip{fill:#b18aff}.rota .now{stroke:#4493f8}\n"
    "}\n";

static void put_fill(FILE *out, enum run_outcome o)
{
    const struct timeline_look *look = timeline_look(o);
    const char *name = runs_outcome_name(o);

    if (look->hatch[0])
        fprintf(out, ".rota .%s{fill:url(#rota-%s)}", name, name);
    else
        fprintf(out, ".rota .%s{fill:%s}", name, look->fill);
}

static void put_definitions(FILE *out, enum run_outcome o)
{
    const struct timeline_look *look = timeline_look(o);
    const char *name = runs_outcome_name(o);

    if (look->hatch[0])
        fprintf(out,
                "<pattern id=\"rota-%s\" width=\"6\" height=\"6\" "
                "patternUnits=\"userSpaceOnUse\"><path fill=\"%s\" d=\"M0 0h6v6H0z\"/>"
                "<path class=\"hatch\" d=\"%s\"/></pattern>\n",
                name, look->fill, look->hatch);
    if (look->mark[0])
        fprintf(out, "<path id=\"rota-mark-%s\" d=\"%s\"/>\n", name, look->mark);
}

void svg_style_put(FILE *out)
{
    fputs(style, out);
    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++)
        put_fill(out, o);
    fputs("\n</style>\n<defs>\n", out);
    for (enum run_outcome o = 0; o < RUN_OUTCOMES; o++)
        put_definitions(out, o);
    fprintf(
        out,
        "<path id=\"rota-gone\" d=\"M0-4.5 4.5 0 0 4.5-4.5 0z\"/>\n"
        "<marker id=\"rota-tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" "
        "markerHeight=\"7\" orient=\"auto\"><path class=\"tip\" d=\"M0 1 8 4 0 7z\"/></marker>\n"
        "<clipPath id=\"rota-names\"><path d=\"M0 0h%dv1000000H0z\"/></clipPath>\n"
        "</defs>\n",
        SVG_LEFT - 6);
}
