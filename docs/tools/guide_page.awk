# SPDX-License-Identifier: MIT
# A page of section 7, for scdoc, of guide.md, redis.md or correctness.md: what of Markdown these files have. A drawing
# is left out; in its place stands what is in a comment after it, which begins with "<!-- for the manual".
#   awk -v page=rota-guide -v says='how to ...' -f guide_page.awk guide.md

# Code is bold, links are their text, and what scdoc would take for its own is escaped.
function inline(text,    out, at, code) {
    gsub(/\*\*/, "*", text)
    out = ""
    while ((at = index(text, "`")) > 0) {
        out = out plain(substr(text, 1, at - 1))
        text = substr(text, at + 1)
        at = index(text, "`")
        code = substr(text, 1, at - 1)
        gsub(/[\\*_]/, "\\\\&", code)
        out = out "*" code "*"
        text = substr(text, at + 1)
    }
    return out plain(text)
}

function plain(text,    out) {
    out = ""
    while (match(text, /\[[^]]*\]\([^)]*\)/)) {
        out = out escape(substr(text, 1, RSTART - 1))
        out = out escape(substr(text, RSTART + 1, index(substr(text, RSTART), "](") - 2))
        text = substr(text, RSTART + RLENGTH)
    }
    return out escape(text)
}

function escape(text) {
    gsub(/[\\_]/, "\\\\&", text)
    return text
}

# A line of a table: each of its cells a line. "\|" is no border.
function row(line,    count, cells, i) {
    gsub(/\\\|/, "\001", line)
    sub(/^\| */, "", line)
    sub(/ *\|$/, "", line)
    count = split(line, cells, / *\| */)
    for (i = 1; i <= count; i++) {
        gsub("\001", "|", cells[i])
        print (i == 1 ? "|" : ":") (in_table ? " " : "[") " " inline(cells[i])
    }
    in_table = 1
}

NR == 1 {
    print page "(7) \"rota\"\n"
    print "; SPDX-License-Identifier: MIT\n"
    print "# NAME\n"
    print page " - " says "\n"
    print "# DESCRIPTION"
    next
}
/^```/ { print "```"; frame = !frame; next }
frame { print; next }
/^<!--/ || /^-->$/ || /^!\[/ { next }
# For who has the source.
/^## Which test shows what$/ { exit }
/^\|[-| :]*\|$/ { next }
/^\|/ { row($0); next }
{ in_table = 0 }
/^###? / { sub(/^#/, ""); print; next }
/^[0-9]+\. / { sub(/^[0-9]+/, ""); print inline($0); next }
{ print inline($0) }
