# SPDX-License-Identifier: MIT
"""The calendar against another one: slow, written from the contract's sentences with Python's zoneinfo.

Here nothing knows of stretches, sets of bits or jumps. It walks local days, asks of every matching minute
what zoneinfo says of it (its fold, and whether it comes back from UTC as it went), and sorts what comes out.
calendar_tool is the calendar under the test's hand."""
import calendar
import datetime
import functools
import os
import pathlib
import random
import subprocess
import time
import zoneinfo

import pytest

from fleet import SANITIZED

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ROTA_BUILD", ROOT / "build" / "release"))
TOOL = BUILD / "tests" / "integration" / "calendar_tool"
ZONEINFO = pathlib.Path("/usr/share/zoneinfo")

UTC = datetime.timezone.utc
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
DAY = datetime.timedelta(days=1)
MINUTE = datetime.timedelta(minutes=1)
SECOND = datetime.timedelta(seconds=1)
MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()

# Whole hours and half ones, at midnight and at two, to the south, a day left out, a day twice, four
# changes a year, summer time below standard time, seconds in the offset, none at all.
AWKWARD = """Europe/Berlin America/New_York Australia/Lord_Howe Pacific/Apia Africa/Casablanca Europe/Dublin
    Antarctica/Troll America/Sao_Paulo Asia/Beirut Asia/Gaza America/Nuuk America/St_Johns Asia/Kathmandu
    Pacific/Kwajalein Pacific/Kiritimati Africa/Monrovia Africa/Cairo America/Santiago Asia/Tehran Asia/Pyongyang
    Pacific/Chatham Europe/Lisbon Antarctica/Casey Etc/GMT+12 UTC""".split()


# The expression, as crontab(5) says it

class Cron:
    def __init__(self, text):
        minute, hour, day, month, weekday = text.split()
        self.minutes = members(minute, 0, 59)
        self.hours = members(hour, 0, 23)
        self.days = members(day, 1, 31)
        self.months = members(month, 1, 12, ["", *MONTHS])
        self.weekdays = {value % 7 for value in members(weekday, 0, 7, WEEKDAYS)}
        self.either = not day.startswith("*") and not weekday.startswith("*")
        self.every_hour = len(self.hours) == 24
        self.both_times = "*" in hour or "/" in hour or self.every_hour
        self.times = sorted(60 * h + m for h in self.hours for m in self.minutes)

    def has_day(self, date):
        if date.month not in self.months:
            return False
        by_date, by_weekday = date.day in self.days, date.isoweekday() % 7 in self.weekdays
        return by_date or by_weekday if self.either else by_date and by_weekday


def members(field, low, high, names=()):
    result = set()
    for item in field.split(","):
        values, _, step = item.partition("/")
        first, dash, last = (low, "-", high) if values == "*" else values.partition("-")
        first = number(first, names)
        last = number(last, names) if dash else first
        if last == 0 < first:
            last = 7
        result |= set(range(first, last + 1, int(step or 1)))
    return result


def number(text, names):
    return names.index(text.upper()) if str(text).upper() in names else int(text)


# Its turns, as the contract says them

zone_of = functools.lru_cache(maxsize=None)(zoneinfo.ZoneInfo)


def instant(local, zone, fold):
    return (local.replace(tzinfo=zone, fold=fold) - EPOCH) // SECOND


def local_of(at, zone):
    return datetime.datetime.fromtimestamp(at, zone)


def shows(local, at, zone):
    return local_of(at, zone).replace(tzinfo=None, fold=0) == local


def end_of_gap(local, zone):
    """The instant at which the clock was put forward past `local`."""
    before, after = instant(local, zone, 1), instant(local, zone, 0)
    offset = local_of(after, zone).utcoffset()
    while after - before > 1:
        middle = (before + after) // 2
        if local_of(middle, zone).utcoffset() == offset:
            after = middle
        else:
            before = middle
    return after


def turns_of_minute(cron, local, zone):
    first, second = instant(local, zone, 0), instant(local, zone, 1)
    if first == second:
        return [first]
    if shows(local, first, zone) and shows(local, second, zone):
        return [first, second] if cron.both_times else [first]
    left_out = first - second
    if cron.every_hour and left_out % 3600 == 0:
        return []
    return [end_of_gap(local, zone)]


@functools.lru_cache(maxsize=None)
def changes(name):
    """The instants of 1880 to 2150 at which the offset changes, found by looking every third day."""
    zone, result, step = zone_of(name), [], 3 * 86400
    begin, end = (int((datetime.datetime(year, 1, 1, tzinfo=UTC) - EPOCH) / SECOND) for year in (1880, 2150))
    last = local_of(begin, zone).utcoffset()
    for at in range(begin + step, end, step):
        offset = local_of(at, zone).utcoffset()
        if offset != last:
            low, high = at - step, at
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if local_of(middle, zone).utcoffset() == last else (low, middle)
            result.append(high)
        last = offset
    return result


@functools.lru_cache(maxsize=None)
def unsettled(name):
    """The days that are near a change."""
    return {local_of(at, zone_of(name)).toordinal() + step for at in changes(name) for step in range(-3, 4)}


def settled_offset(name, date):
    """The offset where it is the same all day long, the day before and the day after."""
    if date.toordinal() in unsettled(name) or not 1881 <= date.year < 2149:
        return None
    noon = datetime.datetime.combine(date, datetime.time(12), tzinfo=zone_of(name))
    return int(noon.utcoffset() / SECOND)


def turns_of_day(cron, date, name):
    """All instants that come from this day's minutes."""
    start = datetime.datetime.combine(date, datetime.time())
    offset = settled_offset(name, date)
    if offset is not None:
        midnight = (date - EPOCH.date()).days * 86400 - offset
        return [midnight + 60 * minute for minute in cron.times]
    return sorted({turn for minute in cron.times
                   for turn in turns_of_minute(cron, start + minute * MINUTE, zone_of(name))})


def days_of(cron, date, step):
    """Matching days from `date` on, forwards or backwards."""
    while True:
        if date.month not in cron.months:
            last = calendar.monthrange(date.year, date.month)[1]
            date = date.replace(day=last if step > 0 else 1)
        elif cron.has_day(date):
            yield date
        date += step * DAY


def nearest(cron, name, at, step):
    """The first turn after `at`, or the last at or before it: the best of the first day that has one, and of
    the two after that, since a day's turns may come into the next."""
    best, until = None, None
    for date in days_of(cron, local_of(at, zone_of(name)).date() - 2 * step * DAY, step):
        if until is not None and (date - until) * step > datetime.timedelta(0):
            return best
        turns = turns_of_day(cron, date, name)
        turns = [turn for turn in turns if turn > at] if step > 0 else [turn for turn in turns if turn <= at]
        if turns:
            found = min(turns) if step > 0 else max(turns)
            best = found if best is None else (min if step > 0 else max)(best, found)
            until = until or date + 2 * step * DAY


def count(cron, name, at, until):
    """Turns in (at, until]; a turn is its instant, whatever minutes it comes from."""
    zone, plain, found = zone_of(name), 0, set()
    end = local_of(until, zone).date() + 2 * DAY
    for date in days_of(cron, local_of(at, zone).date() - 2 * DAY, 1):
        if date > end:
            return plain + len(found)
        turns = turns_of_day(cron, date, name)
        if settled_offset(name, date) is not None and at < turns[0] and turns[-1] <= until:
            plain += len(turns)
        else:
            found |= {turn for turn in turns if at < turn <= until}


# What is asked

def some_field(draw, low, high, names=(), usual=()):
    def value():
        chosen = draw.choice(usual) if usual and draw.random() < 0.6 else draw.randint(low, high)
        return draw.choice((names[chosen % 7 if high == 7 else chosen], str(chosen))) if names else str(chosen)

    def span():
        first, last = sorted((draw.randint(low, high), draw.randint(low, high)))
        return f"{first}-{last}"

    kind = draw.random()
    if kind < 0.45:
        return value()
    if kind < 0.6:
        return f"*/{draw.randint(1, high - low)}"
    if kind < 0.7:
        return span()
    if kind < 0.8:
        return f"{span()}/{draw.randint(1, high - low)}"
    return ",".join(draw.choice((value, span))() for _ in range(draw.randint(2, 4)))


def some_expression(draw):
    def star(chance, *arguments):
        return "*" if draw.random() < chance else some_field(draw, *arguments)

    while True:
        text = " ".join((star(0.1, 0, 59, (), (0, 15, 30, 59)), star(0.25, 0, 23, (), (0, 1, 2, 3, 23)),
                         star(0.6, 1, 31, (), (1, 29, 30, 31)), star(0.7, 1, 12, ["", *MONTHS], (2, 3, 10)),
                         star(0.6, 0, 7, WEEKDAYS)))
        cron = Cron(text)
        longest = max(calendar.monthrange(2000, month)[1] for month in cron.months)
        if cron.either or min(cron.days) <= longest:
            return text, cron


def some_instant(draw, name, earliest):
    if changes(name) and draw.random() < 0.7:
        at = draw.choice(changes(name)) + draw.choice((0, 0, -1, 1, draw.randint(-7200, 7200),
                                                       draw.randint(-90000, 90000)))
    else:
        at = draw.randint(0, 130 * 366 * 86400)
    return max(at, earliest) * 1000 + draw.choice((0, 0, 999, draw.randint(0, 999)))


def ask(questions):
    text = "".join("\t".join(map(str, question)) + "\n" for question in questions)
    result = subprocess.run([TOOL, ZONEINFO], input=text, capture_output=True, text=True, timeout=60, check=True)
    return result.stdout.splitlines()


def check(seed, cases, seconds):
    """As many of `cases` as the time allows: who is slow checks fewer, but not none."""
    assert (ZONEINFO / "Europe" / "Berlin").exists(), "there are no time zones here; install tzdata"
    zoneinfo.reset_tzpath([ZONEINFO])
    draw = random.Random(seed)
    others = sorted(name for name in zoneinfo.available_timezones() if not name.startswith("right/"))
    names = AWKWARD + draw.sample(others, 15)
    earliest = int(datetime.datetime(1880, 1, 1, tzinfo=UTC).timestamp())
    questions = []
    for _ in range(cases):
        text, cron = some_expression(draw)
        name = draw.choice(names)
        at = some_instant(draw, name, earliest)
        dense = len(cron.times) > 200
        until = at + draw.choice((0, 3600, 86400, (20 if dense else 400) * 86400)) * 1000 + draw.randint(0, 86400000)
        questions.append((text, name, at, until))
    # One zone after the other: the tool reads each once.
    questions.sort(key=lambda question: question[1])
    answers = ask(questions)
    assert len(answers) == cases
    order = list(range(cases))
    draw.shuffle(order)
    deadline, done = time.monotonic() + seconds, 0
    for i in order:
        text, name, at, until = questions[i]
        cron = Cron(text)
        wanted = [nearest(cron, name, at // 1000, 1) * 1000, nearest(cron, name, at // 1000, -1) * 1000,
                  count(cron, name, at // 1000, until // 1000)]
        assert answers[i] == " ".join(map(str, wanted)), (
            f"ROTA_SEED={seed}: next, latest and count should be {wanted}; to see it again: "
            f"printf '{text}\\t{name}\\t{at}\\t{until}\\n' | calendar_tool {ZONEINFO}")
        done += 1
        if time.monotonic() > deadline:
            break
    print(f"ROTA_SEED={seed}: {done} of {cases} checked")
    assert done >= cases // 20


def a_seed():
    return int(os.environ.get("ROTA_SEED") or time.time_ns() % 2**32)


def test_agrees_with_the_slow_calendar():
    check(a_seed(), 1500, 15)


@pytest.mark.long
@pytest.mark.skipif(SANITIZED, reason="the same code as the short run, only more of it")
def test_agrees_with_the_slow_calendar_for_long():
    check(a_seed(), 60_000, 300)
