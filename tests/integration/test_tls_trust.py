# SPDX-License-Identifier: MIT
"""TLS: what rotad loads for it is nobody else's, and never so much that all else has to wait."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

from fleet import ROTAD
from store_harness import SECONDS
from tls import MODULE, Authority, TlsServer
from test_tls import refusal

MEBIBYTE = 1 << 20
NOBODY = 65534


@pytest.fixture(scope="module")
def ca():
    with Authority() as authority:
        yield authority


@pytest.fixture(scope="module")
def server(ca):
    the_server = TlsServer(ca.issue("127.0.0.1"))
    try:
        yield the_server.start()
    finally:
        the_server.close()


@pytest.fixture
def module(ca):
    """A copy, in a folder of its own."""
    folder = ca.folder / "rota"
    folder.mkdir(mode=0o755)
    yield shutil.copy(MODULE, folder / MODULE.name)
    shutil.rmtree(folder)


def serves(drive, server, ca_file, module=MODULE):
    driver = drive(f"127.0.0.1 {server.tls_port}", tls=module, ca=ca_file, connect=1000 * SECONDS)
    return driver.call("clock")["status"] == "answered"


def test_a_module_of_ours_is_loaded_also_by_a_link(drive, server, ca, module):
    assert serves(drive, server, ca.file, module)
    link = ca.folder / "link.so"
    link.symlink_to(module)
    assert serves(drive, server, ca.file, link)


@pytest.mark.parametrize("which, mode, who", [
    ("file", 0o757, "everybody"), ("file", 0o775, "its group"), ("folder", 0o777, "everybody"), ("link", 0o777, "everybody")])
def test_a_module_that_others_can_change_is_not_loaded(drive, server, ca, module, which, mode, who):
    wrong, named = (module.parent if which != "file" else module), module
    wrong.chmod(mode)
    if which == "link":
        named = ca.folder / "other.so"
        named.symlink_to(module)
    assert refusal(drive, server.tls_port, ca, tls=named) == (
        "operator", f"TLS is not to be had: '{wrong}' can be changed by {who}; chmod it go-w")


def test_a_link_that_others_can_change_is_not_followed(drive, server, ca, module, tmp_path):
    """To the module, and to a file: what it leads to is nobody else's, but another could stand there next."""
    (tmp_path / "ca.pem").symlink_to(ca.file)
    (tmp_path / "module.so").symlink_to(module)
    assert serves(drive, server, tmp_path / "ca.pem", tmp_path / "module.so")
    tmp_path.chmod(0o777)
    wrong = f"'{tmp_path}' can be changed by everybody; chmod it go-w"
    assert refusal(drive, server.tls_port, ca, tls=tmp_path / "module.so") == (
        "operator", f"TLS is not to be had: {wrong}")
    assert refusal(drive, server.tls_port, ca, ca=tmp_path / "ca.pem") == (
        "operator", f"redis.tls_ca '{tmp_path / 'ca.pem'}' is not used: {wrong}")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_a_closed_working_directory_is_no_hindrance(tmp_path):
    """Who becomes rotad's user is often still in root's own folder."""
    as_nobody = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    if subprocess.run([*as_nobody, "ls", ROTAD, MODULE], capture_output=True, check=False).returncode != 0:
        pytest.skip("the programs lie where other users cannot reach them, as below /root")
    tmp_path.chmod(0o700)
    with tempfile.TemporaryDirectory() as open_folder:
        os.chmod(open_folder, 0o755)
        conf = pathlib.Path(open_folder) / "rotad.conf"
        conf.write_text('device = "d"; prefix = "x:"; redis = { address = "127.0.0.1:1"; tls = true; };\n')
        checked = subprocess.run([*as_nobody, ROTAD, "-c", conf, "--check"], cwd=tmp_path, capture_output=True, text=True,
                                 timeout=30, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root gives files away")
def test_a_module_of_somebody_else_is_not_loaded(drive, server, ca, module):
    os.chown(module, NOBODY, NOBODY)
    fault, reason = refusal(drive, server.tls_port, ca, tls=module)
    assert fault == "operator"
    assert reason.startswith(f"TLS is not to be had: '{module}' belongs to user {NOBODY}, who could replace it; ")


def test_a_module_that_is_cut_off_is_not_loaded(drive, server, ca, module):
    """The loader would touch what is not there, and rotad would end by SIGBUS at each start."""
    size = module.stat().st_size
    for left in (size - 1, size // 2, 4096):
        os.truncate(module, left)
        assert refusal(drive, server.tls_port, ca, tls=module) == (
            "operator", f"TLS is not to be had: '{module}' is not whole; install all of rota, and libssl3 "
                        "(from Debian 13 on libssl3t64)")


def test_a_fifo_in_the_place_of_the_module_holds_nobody_up(drive, server, ca, module):
    module.unlink()
    os.mkfifo(module, 0o644)
    assert refusal(drive, server.tls_port, ca, tls=module) == (
        "operator", f"TLS is not to be had: '{module}' is no regular file")


def test_a_ca_file_that_would_take_long_to_read_is_not_read(drive, server, ca):
    for size in (MEBIBYTE, MEBIBYTE + 1):
        big = ca.folder / f"{size}.pem"
        big.write_text(ca.file.read_text())
        os.truncate(big, size)
        if size == MEBIBYTE:
            assert serves(drive, server, big)
        else:
            assert refusal(drive, server.tls_port, ca, ca=big) == (
                "operator", f"redis.tls_ca '{big}' is not used: it has {size} bytes; at most {MEBIBYTE} are read")
