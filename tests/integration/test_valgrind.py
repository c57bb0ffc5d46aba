# SPDX-License-Identifier: MIT
"""What valgrind.py reads of processes that ran under it: a finding fails, and so does a program that was not there."""
import pytest

import valgrind

RAN = "<valgrindoutput><args><argv>\n <exe>/build/{program}</exe></argv></args>{error}</valgrindoutput>"
ERROR = """<error><kind>UninitCondition</kind><what>Conditional jump</what>
<stack><frame><fn>inner</fn></frame><frame><fn>main</fn></frame></stack></error>"""


@pytest.fixture
def ran(tmp_path):
    def write(**errors):
        for number, program in enumerate(valgrind.PROGRAMS):
            text = RAN.format(program=program, error=errors.get(program.replace("-", "_"), ""))
            (tmp_path / f"{number}.xml").write_text(text)
        return tmp_path
    return write


def test_nothing_found(ran):
    assert valgrind.main(ran()) == 0


def test_a_finding_is_told_with_its_place(ran, capsys):
    folder = ran(rota_guard=ERROR)
    # Of a process that was forked or killed there is no beginning or no end.
    (folder / "forked.xml").write_text(ERROR + "<error><what>Invalid")
    assert valgrind.main(folder) == 1
    assert "2 times: Conditional jump\n    inner < main" in capsys.readouterr().out


def test_a_program_that_did_not_run_is_a_failure(ran, capsys):
    folder = ran()
    (folder / "2.xml").unlink()
    assert valgrind.main(folder) == 1
    assert "there was no rotactl among them" in capsys.readouterr().out
