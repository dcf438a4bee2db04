"""What may leave the machine while a tape is recorded, and how much of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from ipaddress import ip_address
from typing import TypeVar

import msgspec

from ptycassette.errors import PreflightError
from ptycassette.profiles.checked import StrictTable, read_checked
from ptycassette.tape.routing import Origin, base_url

Number = TypeVar("Number", int, float)

ANYWHERE = "*"
"""In place of an upstream: any."""

FORBIDDEN = ("holdout", "vault", "secret", "token", "auth")
"""Keys whose values do not leave the machine, unless the user says otherwise."""


class Limit(StrictTable, frozen=True, kw_only=True, omit_defaults=True):
    """How much may be asked: requests to models, tokens in and out, US dollars. None: no limit."""

    requests: int | None = None
    tokens: int | None = None
    usd: float | None = None

    def __post_init__(self) -> None:
        """Check what the types cannot express."""
        for value in (self.requests, self.tokens, self.usd):
            if value is not None and not value >= 0:
                raise ValueError("a limit is not below zero")

    @property
    def text(self) -> str:
        """For people."""
        parts = [
            "" if self.requests is None else f"{self.requests:,} requests",
            "" if self.tokens is None else f"{self.tokens:,} tokens",
            "" if self.usd is None else f"{self.usd:,.2f} USD",
        ]
        return ", ".join(filter(None, parts)) or "as much as it asks for (no limit was given)"


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What may leave the machine.

    Attributes:
        upstreams: origins that were approved (``https://api.openai.com``), or ``*``. Those on
            this machine need no approval.
        limit: how much.
        forbidden: keys of JSON whose values must not be sent. None: the usual ones, where
            something leaves the machine.
        strip: send the rest, without them; by default nothing is sent.
        unsearched: send bodies, too, in which forbidden keys cannot be looked for.
        unknown_models: let models pass whose price is not known.
    """

    upstreams: tuple[str, ...] = ()
    limit: Limit = Limit()
    forbidden: tuple[str, ...] | None = None
    strip: bool = False
    unsearched: bool = False
    unknown_models: bool = False

    def allows(self, origin: Origin) -> bool:
        """Whether anything may be sent there."""
        return is_local(origin) or not {ANYWHERE, str(origin)}.isdisjoint(self.upstreams)

    @property
    def stripped(self) -> tuple[str, ...]:
        """The keys that questions may be sent without."""
        if not self.strip:
            return ()
        return FORBIDDEN if self.forbidden is None else self.forbidden

    def keys_for(self, origin: Origin) -> tuple[str, ...]:
        """The forbidden keys for an upstream."""
        if self.forbidden is not None:
            return self.forbidden
        return () if is_local(origin) else FORBIDDEN


class Approval(StrictTable, frozen=True, kw_only=True):
    """An approval file: what somebody has agreed to, until when.

    ``upstreams`` are base URLs, or ``*``.
    """

    version: int
    upstreams: tuple[str, ...]
    limit: Limit
    until: date | None = None

    @classmethod
    def parse(cls, text: str, *, where: str) -> Approval:
        """Read and check an approval file.

        Raises:
            UsageError: what is wrong.
        """
        found = read_checked(text, cls, where=where, known=(Limit,))
        for one in found.upstreams:
            if one != ANYWHERE:
                base_url(one)
        return found

    def terms(self, terms: Terms, *, today: date) -> Terms:
        """These terms with what is approved: the narrower limit of the two counts.

        Raises:
            PreflightError: it does not hold any more.
        """
        if self.until is not None and today > self.until:
            raise PreflightError(
                f"the approval held until {self.until}", hint="ask for a new approval"
            )
        own, given = terms.limit, self.limit
        limit = Limit(
            requests=_narrower(own.requests, given.requests),
            tokens=_narrower(own.tokens, given.tokens),
            usd=_narrower(own.usd, given.usd),
        )
        origins = tuple(
            one if one == ANYWHERE else str(base_url(one).origin) for one in self.upstreams
        )
        return msgspec.structs.replace(terms, upstreams=(*terms.upstreams, *origins), limit=limit)


class ApprovalNeededError(PreflightError):
    """Something would leave the machine, and nobody has agreed to that.

    Args:
        text: what is sent where, and the limit, to be shown to whoever may agree.
    """

    def __init__(self, text: str) -> None:
        super().__init__(
            f"this needs your approval:\n{text}",
            hint="agree with --yes, or with --approval FILE",
        )
        self.text = text


def approved(terms: Terms, upstreams: Mapping[str, str], main: str) -> None:
    """Return if what a program is pointed at was approved.

    Others than the user's own provider may be left out of an approval: what the program sends
    there is then refused.

    Args:
        terms: what was agreed to.
        upstreams: base URLs, by the names of their routes.
        main: the route of the user's provider; empty if the program may ask for any host.

    Raises:
        ApprovalNeededError: it was not.
    """
    if not main:
        if not terms.upstreams:
            raise ApprovalNeededError(_text(["any host that the program asks for"], terms))
        return
    asked = {name: base_url(url).origin for name, url in upstreams.items()}
    if not terms.allows(asked[main]):
        first = sorted(asked, key=lambda name: name != main)
        names = [str(asked[name]) for name in first if not terms.allows(asked[name])]
        raise ApprovalNeededError(_text(names, terms))


def is_local(origin: Origin) -> bool:
    """Whether it is on this machine."""
    if origin.host == "localhost":
        return True
    try:
        return ip_address(origin.host).is_loopback
    except ValueError:
        return False


def _text(asked: Iterable[str], terms: Terms) -> str:
    keys = FORBIDDEN if terms.forbidden is None else terms.forbidden
    fate = "left out" if terms.strip else "refused"
    return "\n".join(
        [
            "what the program sends to its model goes, with your key, to",
            *(f"  {one}" for one in asked),
            f"at most: {terms.limit.text}",
            f"{fate}: inputs under the keys {', '.join(keys) or '(none)'}",
        ]
    )


def _narrower(own: Number | None, given: Number | None) -> Number | None:
    return min((one for one in (own, given) if one is not None), default=None)
