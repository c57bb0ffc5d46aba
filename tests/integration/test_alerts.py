# SPDX-License-Identifier: MIT
"""docs/alerts.yml: its rules are by names that there are, and the one for late jobs fires when all devices stand still
for two periods: by its own words, and in a real Prometheus."""
import contextlib
import http.server
import json
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.parse
import urllib.request

import pytest

import openmetrics
from fleet import ONCE, SHORT, wait_for
from guard_harness import ROOT
from openmetrics import value
from redis_server import free_port
from rotactl import rotactl, wait_started

ALERTS = ROOT / "docs/alerts.yml"
PERIOD_S = 2


def rules():
    """{name: expression}"""
    text = ALERTS.read_text()
    found = dict(re.findall(r"^ +- alert: (\w+)\n +expr: (.*)$", text, re.M))
    assert len(found) == text.count("- alert:") > 10
    return found


def test_rules_are_by_names_of_the_manual():
    page = (ROOT / "docs/rotactl.1.scd").read_text()
    known = {name for line in page.splitlines() if line.startswith("*rota_") for name in re.findall(r"\*(rota_\w+)\*", line)}
    for name, expression in rules().items():
        used = set(re.findall(r"\brota_\w+", expression))
        assert used and used <= known, name


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_promtool_takes_the_rules():
    done = subprocess.run(["promtool", "check", "rules", ALERTS], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# By minutes, as promtool writes them: well for an hour, then not.
SERIES = {
    'rota_fleet_timestamp_seconds{instance="eye"}': "0+60x150",
    'rota_fleet_devices{instance="eye",state="heard"}': "100x150",
    'rota_fleet_devices{instance="eye",state="silent"}': "5x60 6x90",
    'rota_fleet_job_overdue_turns{instance="eye",job_name="runs"}': "2x150",
    'rota_fleet_job_running{instance="eye",job_name="runs"}': "1x150",
    'rota_fleet_job_overdue_turns{instance="eye",job_name="late"}': "1x60 2x90",
    'rota_fleet_job_running{instance="eye",job_name="late"}': "0x150",
    'rota_fleet_job_given_up{instance="eye",job_name="late"}': "0x60 1x90",
    'rota_info{instance="a"}': "1x150",
    'rota_info{instance="b"}': "1x60",
    'rota_redis_up{instance="a"}': "1x60 0x90",
    'rota_turns_missed_total{instance="a"}': "3x60 4x90",
    'rota_clock_jumps_total{instance="a"}': "0x60 1x90",
    'rota_job_advised_seconds{instance="a",job_name="late",kind="short",setting="worst_case"}': "_x60 900x90",
    'rota_job_barred{instance="a",job_name="wrong",reason="invalid"}': "_x60 1x90",
    'rota_job_barred{instance="a",job_name="late",reason="outdated"}': "1x150",
    'rota_job_renewal_margin_seconds{instance="a",job_name="late"}': "30x60 0.5x90",
    'rota_job_stuck{instance="a",job_name="late"}': "0x60 1x90",
}
FIRING = {"RotaJobLate", "RotaJobGivenUp", "RotaRedisUnreachable", "RotaTurnsMissed", "RotaClockJumped", "RotaWorstCaseShort",
          "RotaJobsInvalid", "RotaRenewalsLate", "RotaJobStuck", "RotaGone"}
FOR_AN_HOUR = {"RotaTurnsMissed", "RotaClockJumped"}


def firing_at(minutes, alerts):
    samples = [{"labels": f'{{alertname="{name}"}}', "value": 1} for name in sorted(alerts)]
    return {"expr": 'count by (alertname) (ALERTS{alertstate="firing"})', "eval_time": f"{minutes}m", "exp_samples": samples}


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("promtool"), reason="there is no promtool")
def test_what_fires_and_what_does_not(tmp_path):
    test = {"interval": "1m", "input_series": [{"series": name, "values": values} for name, values in SERIES.items()],
            "promql_expr_test": [firing_at(59, ()), firing_at(100, FIRING),
                                 firing_at(135, FIRING - FOR_AN_HOUR | {"RotaDevicesSilent"})]}
    path = tmp_path / "test.yml"  # JSON is YAML
    path.write_text(json.dumps({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": [test]}))
    done = subprocess.run(["promtool", "test", "rules", path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Watched:
    """Two devices that take turns at a job, and one that only looks on."""

    def __init__(self, fleet):
        job = {**SHORT, "every": f"{PERIOD_S}s", "splay": "0s", "worst_case": "500ms", "first": "now",
               "devices": ["gate-*"], **fleet.body("job")}
        self.fleet = fleet
        self.workers = [fleet.device({"job": job}).start() for _ in range(2)]
        self.reader = wait_started(fleet.device({"job": job, "own": {**SHORT, **ONCE, **fleet.body("own")}}, name="eye").start())
        fleet.wait_entry("end", "job", 20, count=2)
        wait_for(lambda: self.metrics() and not self.is_late(), 20, "all is well")

    def signal(self, number):
        for device in self.workers:
            device.signal(number)

    def text(self):
        done = rotactl(self.reader, "metrics", "--fleet")
        return done.stdout if done.returncode == 0 else ""

    def metrics(self):
        text = self.text()
        return openmetrics.read(text) if text else None

    def is_late(self):
        """What the rule says, by hand."""
        expression = rules()["RotaJobLate"]
        assert expression == ("rota_fleet_job_overdue_turns >= 2 unless on (job_name, instance) "
                              "(rota_fleet_job_running == 1 or rota_fleet_job_paused == 1)")
        found = self.metrics()
        overdue, running, paused = (value(found, f"rota_fleet_job_{what}", job_name="job")
                                    for what in ("overdue_turns", "running", "paused"))
        return overdue >= 2 and running != 1 and paused != 1


def test_late_when_all_devices_stand_still_for_two_periods(fleet):
    watched = Watched(fleet)
    watched.signal(signal.SIGSTOP)
    wait_for(watched.is_late, 20, "it is late")
    found = watched.metrics()
    late = value(found, "rota_fleet_job_late_seconds", job_name="job")
    assert late >= PERIOD_S
    done = value(found, "rota_fleet_job_last_turn_timestamp_seconds", job_name="job")
    assert abs(value(found, "rota_fleet_timestamp_seconds") - done - PERIOD_S - late) < 0.1
    watched.signal(signal.SIGCONT)
    wait_for(lambda: not watched.is_late(), 20, "it has run again")


def test_a_paused_job_is_not_late(fleet):
    watched = Watched(fleet)
    assert rotactl(watched.reader, "pause", "job", "--fleet", "--reason", "NAS full").returncode == 0
    wait_for(lambda: value(watched.metrics(), "rota_fleet_job_overdue_turns", job_name="job") >= 2, 20, "two turns pass")
    assert value(watched.metrics(), "rota_fleet_job_paused", job_name="job") == 1
    assert not watched.is_late()


# --- in a Prometheus ---

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = self.server.text().encode()
        self.send_response(200 if text else 503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(text):
    """Its port."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    server.text = text
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def prometheus(target):
    """One that reads the port each second, with the rules of docs/. Its own port."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        config = f"""global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: [ {ALERTS} ]
scrape_configs:
  - job_name: rota
    static_configs: [ {{ targets: [ "127.0.0.1:{target}" ] }} ]
"""
        path = f"{folder}/prometheus.yml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(config)
        with open(f"{folder}/log", "wb") as log:
            process = subprocess.Popen(["prometheus", f"--config.file={path}", f"--storage.tsdb.path={folder}/data",
                                        f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        try:
            yield port
        finally:
            process.terminate()
            process.wait(30)


def firing(port):
    """The alerts that fire, with their labels; None: it does not answer yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/alerts", timeout=10) as answer:
            alerts = json.load(answer)["data"]["alerts"]
    except OSError:
        return None
    return [alert for alert in alerts if alert["state"] == "firing"]


def late_ones(port):
    """The jobs; None: it does not answer."""
    alerts = firing(port)
    return alerts if alerts is None else [alert["labels"]["job_name"] for alert in alerts
                                          if alert["labels"]["alertname"] == "RotaJobLate"]


def knows(port, expression):
    query = urllib.parse.quote(expression)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/query?query={query}", timeout=10) as answer:
            return json.load(answer)["data"]["result"]
    except OSError:
        return []


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("prometheus"), reason="there is no prometheus")
def test_a_prometheus_says_so(fleet):
    watched = Watched(fleet)
    with served(watched.text) as target, prometheus(target) as port:
        wait_for(lambda: knows(port, "rota_fleet_job_overdue_turns"), 60, "it has read the fleet's numbers")
        assert late_ones(port) == []
        watched.signal(signal.SIGSTOP)
        wait_for(lambda: late_ones(port) == ["job"], 60, "the alert fires")
        watched.signal(signal.SIGCONT)
        wait_for(lambda: late_ones(port) == [], 60, "it is over")
