"""From a source's values to a field's: numbers, categories and labels, and why a value can't be taken.

Ingest and predict use the same functions: what one refuses, the other refuses too.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from decimal import Decimal
from typing import Any, Sequence

import numpy as np

from .fault import Fault
from .matching import Binding
from .picture import Canon
from .readers import Block, Problem, Source

MISSING = frozenset(("", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NULL", "null", "<NA>"))
"""Text that says a value is missing, in any column; `missing = …` adds more."""

MISSING_NUMBERS = MISSING | {"?", "-", ".", "None", "none"}
"""Text that does so in a column of numbers."""


def text_of(value: Any) -> str | None:
    """A value as the text of a category or label; None where it is missing. Whole floats lose their ``.0``."""
    if value is None:
        return None
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        if math.isnan(value):
            return None
        return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))
    if isinstance(value, (bytes, np.bytes_)):
        return bytes(value).decode("utf-8", "replace").strip()
    if isinstance(value, datetime.datetime) and value.time() == datetime.time() and value.tzinfo is None:
        value = value.date()
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    return str(value).strip()


def kind_of(values: Any) -> str:
    """The kind of a column's values: whole, number, truth, day, time, instant (a time in a zone), numbers (a list of them) or text; empty for none."""
    letter = getattr(getattr(values, "dtype", None), "kind", "O")
    if letter != "O":
        return {"i": "whole", "u": "whole", "f": "number", "b": "truth"}.get(letter, "text")
    kinds = set()
    for v in values:
        if v is None:
            continue
        if isinstance(v, (bool, np.bool_)):
            kinds.add("truth")
        elif isinstance(v, (int, np.integer)):
            kinds.add("whole")
        elif isinstance(v, (float, np.floating)):
            kinds.add("number")
        elif isinstance(v, datetime.datetime):
            kinds.add("time" if v.tzinfo is None else "instant")
        elif isinstance(v, list) and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in v):
            kinds.add("numbers")
        else:
            kinds.add("day" if isinstance(v, datetime.date) else "text")
    return wider(*kinds)


def wider(*kinds: str) -> str:
    """The kind that takes the values of several; empty for none."""
    seen = set(kinds) - {""}
    if len(seen) < 2:
        return next(iter(seen), "")
    return "number" if seen == {"whole", "number"} else "time" if seen == {"day", "time"} else "text"


def shown(value: Any) -> str:
    """A value as a message shows it, cut to 40 characters."""
    text = text_of(value)
    text = "" if text is None else text
    return text if len(text) <= 40 else text[:39] + "…"


def categories(values: Any, missing: frozenset[str]) -> list[str | None]:
    """A column as texts; None where missing."""
    if isinstance(values, np.ndarray):
        values = values.reshape(len(values), -1)[:, 0].tolist() if values.ndim > 1 else values.tolist()
    out = [text_of(v) for v in values]
    return [None if v is None or v in missing else v for v in out]


def _number(value: Any, decimal: str, missing: frozenset[str]) -> float | None:
    """One number; NaN where missing; None where it is no number."""
    if value is None:
        return math.nan
    if isinstance(value, str):
        value = value.strip()
        if value in missing:
            return math.nan
        if "_" in value:
            return None
        if decimal != ".":
            if "." in value:
                return None  # 1.234 is a thousand here, if `_ungrouped` says so
            value = value.replace(decimal, ".")
    elif isinstance(value, (list, dict)):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


_GROUPS = re.compile(r"[+-]?\d{1,3}(?:([.,' ’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:([.,])\d+)?")


def ungrouped(text: str, decimal: str) -> tuple[float, bool] | None:
    """A number whose thousands are set apart, 1,234.5 or 1'234: its value, and whether it can be read so only.

    None where it is none. 1,234 may be meant as 1.234, so it needs company.
    """
    m = _GROUPS.fullmatch(text.strip())
    if m is None or m.group(1) == decimal or m.group(2) not in (None, decimal):
        return None
    sure = m.group(1) not in ",." or m.group(2) is not None or text.count(m.group(1)) > 1
    return float(text.strip().replace(m.group(1), "").replace(decimal, ".")), sure


_ISO = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?(?: ?(?:Z|[+-]\d{2}:?\d{2}))?)?")
_DOTTED = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?:[ ,]+(\d{1,2}:\d{2}(?::\d{2})?))?")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_TRUTHS = {"true": 1.0, "false": 0.0}, {"yes": 1.0, "no": 0.0}


def day_of(value: Any) -> float | None:
    """A date or time as days since 1970-01-01 in UTC (without a zone it counts as UTC); None where it is none.

    Text: ISO 8601 (2026-01-31, with a time and zone or without), or 31.1.2026. 1/2/2026 is none: it means two days.
    """
    if isinstance(value, str):
        value = value.strip()
        dotted = _DOTTED.fullmatch(value)
        if dotted:
            day, month, year, clock = dotted.groups()
            value = f"{year}-{month:0>2}-{day:0>2}" + (f"T{clock:0>5}" if clock else "")
        elif not _ISO.fullmatch(value):
            return None
        else:
            date, sep, clock = value.replace(",", ".").partition("T" if "T" in value else " ")
            year, month, day = date.split("-")
            value = f"{year}-{month:0>2}-{day:0>2}" + (("T" + clock.replace(" ", "")) if sep else "")
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            value = value.replace(tzinfo=datetime.timezone.utc)
        return (value - _EPOCH) / datetime.timedelta(days=1)
    if isinstance(value, datetime.date):
        return float(value.toordinal() - _EPOCH.date().toordinal())
    return None


def _quick(values: list) -> np.ndarray | None:
    """A list of numbers, of their text, and of empty cells as floats; None where there is anything else."""
    if "_" in "".join([v for v in values if type(v) is str]):  # float("1_0") is 10
        return None
    try:
        return np.array(list(map(float, values)))
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return np.array([float(v) if v is not None and v != "" else math.nan for v in values])
    except (TypeError, ValueError, OverflowError):
        return None


def numbers(values: Any, column: str, decimal: str, missing: frozenset[str], problems: list[Problem], said: dict[str, str] | None = None) -> np.ndarray:
    """A column as floats [n], missing ones NaN; what is no number becomes a problem.

    A column of dates becomes days, one of truth values 1 and 0; `said` gets the words for it, by column.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return values.reshape(len(values)).astype(np.float64)
    if isinstance(values, np.ndarray):
        if values.dtype.kind not in "USO":
            raise Fault(f"The array {column} holds neither numbers nor text.", where={"column": column})
        values = [text_of(v) for v in values.reshape(len(values)).tolist()]
    plain = decimal == "."
    if plain and (out := _quick(values)) is not None:
        return out
    out = np.empty(len(values), dtype=np.float64)
    odd: list[int] = []
    for i, v in enumerate(values):
        try:
            if plain or not isinstance(v, str):
                out[i] = float(v)
                if isinstance(v, str) and "_" in v:  # float("1_0") is 10
                    odd.append(i)
                continue
        except (TypeError, ValueError, OverflowError):
            pass
        x = _number(v, decimal, missing)
        out[i] = math.nan if x is None else x
        if x is None:
            odd.append(i)
    if odd:
        odd = _set_apart(values, out, odd, column, decimal, said)
    if not odd:
        return out
    good = int(np.count_nonzero(~np.isnan(out)))
    for what, read in _otherwise([values[i] for i in odd]):
        found = [read(values[i]) for i in odd]
        fitting = sum(x is not None for x in found)
        if fitting > good and fitting * 2 > len(odd):
            # Most of the column is of that kind, so that what is a plain number is out of place.
            whole = [read(v) if not math.isnan(out[i]) or i in set(odd) else math.nan for i, v in enumerate(values)] if good else None
            if whole is None:
                out[odd] = [math.nan if x is None else x for x in found]
                odd = [i for i, x in zip(odd, found) if x is None]
            else:
                out = np.array([math.nan if x is None else x for x in whole])
                odd = [i for i, x in enumerate(whole) if x is None]
            if said is not None:
                said.setdefault(column, what)
            break
    for i in odd:
        out[i] = math.nan
        problems.append(Problem(i, column, shown(values[i]), f'"{shown(values[i])}" is not a number', _number_remedy(values[i], decimal)))
    return out


def _set_apart(values: list, out: np.ndarray, odd: list[int], column: str, decimal: str, said: dict[str, str] | None) -> list[int]:
    """Numbers whose thousands are set apart go into `out`; the rows that are still odd.

    That 1,234 is a thousand, and not 1.234, another number of the column has to say: 1,234.5 or 1,234,567.
    """
    found = {i: x for i in odd if isinstance(values[i], str) and (x := ungrouped(values[i], decimal)) is not None}
    if not any(sure for _, sure in found.values()):
        return odd
    for i, (x, _) in found.items():
        out[i] = x
    if said is not None:
        said.setdefault(column, "has thousands set apart; they are read as such")
    return [i for i in odd if i not in found]


_CLOCK = re.compile(r"(\d{1,4}):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?")


def clock_of(value: Any) -> float | None:
    """A time of day, or how long something took, in days; None where it is none. Text: 12:30, 0:05:52.5."""
    if isinstance(value, datetime.timedelta):
        return value / datetime.timedelta(days=1)
    if isinstance(value, datetime.time):
        return (value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6) / 86400
    if isinstance(value, str) and (m := _CLOCK.fullmatch(value.strip())):
        return (int(m.group(1)) * 3600 + int(m.group(2)) * 60 + float((m.group(3) or "0").replace(",", "."))) / 86400
    return None


def _otherwise(odd: list[Any]):
    """The other kinds that a column of numbers may turn out to be: the words for it, and how a value is read."""
    yield "is read as dates: days since 1970-01-01 (UTC)", day_of
    yield "is read as hours and minutes, in days", clock_of
    lower = {str(v).strip().lower() for v in odd[:1000]}
    for truths in _TRUTHS:
        if lower <= set(truths):
            yes, no = truths
            yield f"is read as 1 for {yes} and 0 for {no}", lambda v, t=truths: t.get(str(v).strip().lower())


_UNIT = re.compile(r"(?:([^\d\s.,+-]{1,4}) ?[+-]?\d[\d.,]*|[+-]?\d[\d.,]* ?([^\d\s.,:/-][^\d\s]{0,11}))")


def _number_remedy(value: Any, decimal: str) -> str:
    text = shown(value)
    if decimal == "." and "," in text and _number(text, ",", MISSING_NUMBERS) is not None:
        return 'correct it, or say: with decimal = ","'
    if ungrouped(text, decimal) is not None:
        return "write it without a sign between thousands"
    if re.fullmatch(r"\d{1,2}/\d{1,2}/\d{2,4}.*", text):
        return "write dates as 2026-01-31"
    if m := _UNIT.fullmatch(text):
        return f'write the number alone, without "{(m.group(1) or m.group(2)).strip()}"'
    if not any(c.isdigit() for c in text) and len(text) <= 12:
        return f'correct it; if it means "no value": with missing = "{text}"'
    return "correct it"


def _whole_tensor(b: Binding, values: Any, decimal: str, missing: frozenset[str], problems: list[Problem]) -> np.ndarray:
    """A column whose values are whole tensors, as floats [n, size]."""
    f, column = b.field, b.columns[0]
    if isinstance(values, np.ndarray):
        flat = values.reshape(len(values), -1)
        if flat.dtype.kind not in "fiub":
            raise Fault(f"The array {column} holds text, but {f.name} is {f.says()}.", where={"column": column, "field": f.name})
        if flat.shape[1] != f.size:
            raise Fault(f"The array {column} has {flat.shape[1]} numbers a row, but {f.name} is {f.says()}.", where={"column": column, "field": f.name})
        small = f.rank >= 2 and (flat.dtype.itemsize <= 2 or flat.dtype == np.float32)
        return flat.astype(np.float32 if small else np.float64)
    out = np.full((len(values), f.size), math.nan)
    for i, v in enumerate(values):
        if v is None:
            continue
        try:
            row = np.asarray(v, dtype=np.float64).reshape(-1)
        except (TypeError, ValueError):
            problems.append(Problem(i, column, shown(v), f"{f.name} is not a list of numbers of one shape", f"write it as {f.says()}"))
            continue
        if row.size != f.size:
            problems.append(Problem(i, column, None, f"{f.name} has {row.size} numbers, but is {f.says()}", "bring it to that shape"))
            continue
        out[i] = row
    return out


class Converter:
    """Converts blocks of one source for its bindings. `missing`: texts that say "no value", besides the usual."""

    def __init__(self, source: Source, missing: Sequence[str] = ()):
        self._source = source
        self.missing = MISSING | frozenset(missing)
        self._codes = [x for m in missing if (x := _number(m, ".", frozenset())) is not None and math.isfinite(x)]
        self._said: dict[str, str] = {}
        self._missing_numbers = MISSING_NUMBERS | frozenset(missing)

    def values(self, b: Binding, block: Block, problems: list[Problem]) -> np.ndarray:
        """An input field's values, whatever it is but pictures that are files."""
        if b.field.ragged and b.field.is_class:
            return self.tokens(b, block, problems)
        if b.field.ragged:
            from .nodes import nodes
            return nodes(b, block, problems, self._source, self._missing_numbers)
        if b.field.is_class:
            return self.category(b, block, problems)
        return self.tensor(b, block, problems, required=False)

    def tokens(self, b: Binding, block: Block, problems: list[Problem], kinds: set[str] | None = None) -> np.ndarray:
        """The labels of series, see `nodes.tokens`; a declared set that is an input's refuses others."""
        from .nodes import tokens
        values = tokens(b, block, problems, self._source, self.missing - set(b.field.classes or ()), kinds)
        if b.field.classes and kinds is None:
            refused = {p.at for p in problems}
            for i, series in enumerate(values):
                for at, t in enumerate(series):
                    if t is not None and i not in refused:
                        series[at] = self._declared(b, i, t, problems)
        return values

    @property
    def said(self) -> list[str]:
        """What was done to whole columns, for ``read_as``."""
        return [f"{self._source.name}: {column} {what}" for column, what in self._said.items()]

    def tensor(self, b: Binding, block: Block, problems: list[Problem], *, required: bool) -> np.ndarray:
        """A tensor field's values [n, size]. `required`: a missing number is a problem, as it is in pictures."""
        own: list[Problem] = []
        if b.spread or b.field.size == 1 and not self._is_list(block.columns[b.columns[0]]):
            parts = [numbers(block.columns[c], c, self._source.decimal, self._missing_numbers, own, self._said) for c in b.columns]
            values = parts[0][:, None] if len(parts) == 1 else np.column_stack(parts)
        else:
            values = _whole_tensor(b, block.columns[b.columns[0]], self._source.decimal, self._missing_numbers, own)
        if self._codes:  # also where a file has types, and 999 is a number in it
            values[np.isin(values, self._codes)] = math.nan
        bad = {p.at for p in own}
        infinite = np.isinf(values).any(axis=1)
        for i in np.flatnonzero(infinite):
            if i not in bad:
                place = int(np.flatnonzero(np.isinf(values[i]))[0])
                own.append(Problem(int(i), b.columns[place if b.spread else 0], shown(float(values[i, place])), f"{b.field.name} is infinite", "correct it, or leave it empty"))
                bad.add(int(i))
        if required or b.field.rank >= 2:
            for i in np.flatnonzero(np.isnan(values).any(axis=1)):
                if i not in bad:
                    place = int(np.flatnonzero(np.isnan(values[i]))[0])
                    whole = b.field.size == 1 or np.isnan(values[i]).all()
                    own.append(Problem(int(i), b.columns[place if b.spread else 0], None,
                                       f"{b.field.name} is missing" if whole else f"{b.field.name} has a number missing",
                                       "fill it in, or leave the row out"))
        problems += own
        return values

    def pictures(self, b: Binding, block: Block, problems: list[Problem], canon: Canon) -> tuple[np.ndarray, list[bytes]]:
        """A picture field's values [n, size], from files, and the SHA-256 of each file; what is broken is a problem."""
        column = b.columns[0]
        out: list[np.ndarray | None] = []
        digests: list[bytes] = []
        for i, picture in enumerate(block.columns[column]):
            values, digest = None, b""
            try:
                if picture is None:
                    raise Fault(f"{b.field.name} is missing", hint="fill the path in, or leave the row out")
                content = picture.read()
                digest = hashlib.sha256(content).digest()
                values = canon.convert(content)
            except Fault as fault:
                problems.append(Problem(i, column, None if picture is None else picture.name, fault.message, fault.hint or "leave it out"))
            out.append(values)
            digests.append(digest)
        kind = np.uint8 if all(v is None or v.dtype == np.uint8 for v in out) else np.float32
        whole = np.zeros((len(out), b.field.size), dtype=kind)
        for i, v in enumerate(out):
            if v is not None:
                whole[i] = v
        return whole, digests

    @staticmethod
    def _is_list(values: Any) -> bool:
        return not isinstance(values, np.ndarray) and any(isinstance(v, list) for v in values[:50])

    def category(self, b: Binding, block: Block, problems: list[Problem]) -> np.ndarray:
        """A category's texts [n]; a declared set refuses others, with the nearest in the remedy."""
        values = categories(block.columns[b.columns[0]], self.missing - set(b.field.classes or ()))
        if b.field.classes:
            values = [self._declared(b, i, v, problems) for i, v in enumerate(values)]
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out

    def _declared(self, b: Binding, i: int, value: str | None, problems: list[Problem]) -> str | None:
        if value is None:
            return None
        known = known_label(value, b.field.classes)
        if known is None:
            problems.append(Problem(i, b.columns[0], shown(value), *unknown_label(value, b.field.name, b.field.classes)))
        return known

    def texts(self, b: Binding, block: Block) -> list[str | None]:
        """A label column as texts, not judged yet. A declared label is one, also where it looks like a missing value."""
        missing = self.missing - set(b.field.classes or ())
        values = block.columns[b.columns[0]]
        texts = categories(values, frozenset())
        odd = next((t for t in texts if t and t in missing), None)
        if odd is not None:
            self._said.setdefault(b.columns[0], f'counts as missing where it is "{odd}" (if that is a label, declare it: Class["{odd}", …])')
        return [None if t in missing else t for t in texts]


_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)


def _exact(text: str) -> Decimal | None:
    """The number that a text writes, to its last digit: labels of 18 digits are not one another."""
    return Decimal(text) if _DECIMAL.fullmatch(text) else None


def known_label(value: str, labels: Sequence[str]) -> str | None:
    """The label that a text means: the same, the same number, or the same but for case; None for none."""
    if value in labels:
        return value
    x = _exact(value)
    if x is not None:
        for label in labels:
            if _exact(label) == x:
                return label
    alike = [label for label in labels if label.lower() == value.lower()]
    return alike[0] if len(alike) == 1 else None


def unknown_label(value: str, field: str, labels: Sequence[str]) -> tuple[str, str]:
    """Reason and remedy for a label or category that isn't among `labels`."""
    import difflib
    near = difflib.get_close_matches(value, list(labels), 1)
    if all(label.isdigit() for label in labels) and len(labels) > 2 and [int(x) for x in labels] == list(range(int(labels[0]), int(labels[-1]) + 1)):
        names = f"classes {labels[0]}–{labels[-1]}"
    else:
        names = ", ".join(f'"{x}"' for x in labels[:8]) + (f" and {len(labels) - 8} more" if len(labels) > 8 else "")
    shown_value = value if value.lstrip("-").isdigit() else f'"{shown(value)}"'
    remedy = f'did you mean "{near[0]}"?' if near else "correct it, or leave the row out"
    return f"{field} {shown_value}, but there are {names}", remedy
