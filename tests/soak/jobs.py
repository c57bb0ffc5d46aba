# SPDX-License-Identifier: MIT
"""The soak's jobs: their settings for a conf file, and the same in ms, with what rotad makes of them."""
COMMAND_MS, CONNECT_MS = 500, 1_000
START_MS = 1_000  # PROTOCOL.md's A
GRACE_MS = 500

# mode and work_ms are work.c's; the rest is as in a conf file, in ms.
JOBS = {
    "tick": {"every": 2_000, "worst_case": 1_000, "retry_delay": 0, "mode": "plain", "work_ms": 100},
    "quick": {"every": 5_000, "worst_case": 2_000, "retry_delay": 500, "mode": "plain", "work_ms": 700},
    "long": {"every": 20_000, "worst_case": 12_000, "retry_delay": 0, "lease": 5_000, "mode": "plain",
             "work_ms": 8_000},
    "tree": {"every": 15_000, "worst_case": 8_000, "retry_delay": 0, "lease": 5_000, "mode": "tree",
             "work_ms": 4_000},
    "flaky": {"every": 7_000, "worst_case": 1_000, "retry_delay": 1_000, "mode": "flaky", "work_ms": 300},
    "poison": {"every": 30_000, "worst_case": 1_000, "retry_delay": 1_000, "mode": "poison", "work_ms": 200},
    "fenced": {"every": 10_000, "worst_case": 3_000, "retry_delay": 500, "require_fence": True, "mode": "fenced",
               "work_ms": 1_500},
    "each": {"every": 30_000, "worst_case": 1_000, "retry_delay": 1_000, "scope": "device", "concurrency": 1000,
             "splay": 5_000, "mode": "plain", "work_ms": 200},
    "seats": {"every": 60_000, "worst_case": 2_000, "retry_delay": 1_000, "scope": "device", "concurrency": 3,
              "splay": 5_000, "mode": "plain", "work_ms": 500},
    "sulky": {"every": 30_000, "worst_case": 1_000, "retry_delay": 1_000, "scope": "device", "concurrency": 1000,
              "splay": 1_000, "stop_after_failures": 3, "only": 2, "mode": "fails", "work_ms": 100},
}
TIMES = ("every", "worst_case", "retry_delay", "lease", "splay")


def conf(work, ledger, storage, devices):
    """As fleet.conf_text() takes them."""
    found = {}
    for name, job in JOBS.items():
        settings = {"plugin": "exec", "stop_grace": f"{GRACE_MS}ms"}
        for key, value in job.items():
            if key in TIMES:
                settings[key] = f"{value}ms"
            elif key not in ("mode", "work_ms", "only"):
                settings[key] = value
        if "only" in job:
            settings["devices"] = devices[:job["only"]]
        settings["params"] = {"command": [work, ledger, job["mode"], str(job["work_ms"]), storage]}
        found[name] = settings
    return found


def resolved(devices):
    """For soak.json. PROTOCOL.md, Time: B = C + A + W + G + M, and M is 1 % of L and at least 250 ms."""
    found = {}
    for name, job in JOBS.items():
        fixed = COMMAND_MS + START_MS + job["worst_case"] + GRACE_MS
        asked = job.get("lease", 60_000)
        budget = fixed + max(250, -(-fixed // 99))
        lease = min(budget, asked)
        device_scope = job.get("scope") == "device"
        found[name] = {
            "offset": 0, "attempts": 3, "scope": "fleet", "concurrency": 1, "catch_up": job["every"],
            "splay": min(1_000, job["every"] // 4), "stop_after_failures": 3 if device_scope else 0,
            **{key: value for key, value in job.items() if key != "only"}, "stop_grace": GRACE_MS, "lease": lease,
            "budget": budget, "margin": max(250, lease // 100), "renewed": lease < budget,
            "devices": devices[:job["only"]] if "only" in job else devices}
    return found
