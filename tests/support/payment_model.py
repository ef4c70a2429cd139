"""A small model of one payment on a chain, explored to the end: every short history, asked in every way.

The chain of the model knows ledgers, one nonce and who used it for what; it has no XDR and no RPC. What an
RPC would say about it goes to the real decision function, and the money says whether the decision is right.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product

from provider.chain.history import Span
from provider.chain.nonces import NonceReading, Window
from provider.chain.onchain import Sighting, Use
from provider.jobs.reconcile import decide as rules
from provider.jobs.reconcile.decide import Decision, Verdict
from provider.jobs.reconcile.evidence import Evidence, Step

FIRST, EXPIRATION, LAST = 1, 3, 7
"""Ledger of the claim, last ledger of the payment, end of the histories."""
TTL, HIGHER_TTL = 3, 5


@dataclass(frozen=True)
class Entry:
    """The nonce entry: its last write, and the last ledger that it lives in."""

    modified: int
    until: int


@dataclass(frozen=True)
class Chain:
    """Everything that is true after some ledger."""

    now: int = FIRST - 1
    entry: Entry | None = None
    uses: tuple[tuple[int, Use], ...] = ()
    """Ledgers in which the nonce was used: for the payment (PAID) or for another call (SPENT)."""
    ttl: int = TTL
    ttl_since: int = 0
    denied: bool = False
    """The payment was decided to be unpaid, for good."""

    @property
    def is_paid(self) -> bool:
        return any(use is Use.PAID for _, use in self.uses)

    def later(self) -> "Chain":
        """Close a ledger in which nothing happens."""
        now = self.now + 1
        lives = self.entry is not None and self.entry.until >= now
        return replace(self, now=now, entry=self.entry if lives else None)

    def used(self, use: Use, valid_until: int) -> "Chain":
        until = max(valid_until, self.now + self.ttl - 1)
        return replace(self, entry=Entry(self.now, until), uses=(*self.uses, (self.now, use)))


def land(chain: Chain) -> Chain | None:
    fits = chain.entry is None and FIRST <= chain.now <= EXPIRATION
    return chain.used(Use.PAID, EXPIRATION) if fits else None


def spend(chain: Chain) -> Chain | None:
    """The payer signed another call under the same nonce, valid for long."""
    return chain.used(Use.SPENT, max(chain.now, EXPIRATION)) if chain.entry is None else None


def spend_briefly(chain: Chain) -> Chain | None:
    """Another call whose own authorisation ends at once."""
    return chain.used(Use.SPENT, chain.now) if chain.entry is None else None


def touch(chain: Chain) -> Chain | None:
    """Anybody writes the entry back."""
    return chain.entry and replace(chain, entry=replace(chain.entry, modified=chain.now))


def extend(chain: Chain) -> Chain | None:
    """Anybody lets the entry live longer."""
    return chain.entry and replace(chain, entry=replace(chain.entry, until=LAST + 1))


def change_setting(chain: Chain) -> Chain | None:
    """The network lets entries live longer from now on."""
    return replace(chain, ttl=HIGHER_TTL, ttl_since=chain.now) if chain.ttl == TTL else None


ACTS: tuple[Callable[[Chain], Chain | None], ...] = (
    land,
    spend,
    spend_briefly,
    touch,
    extend,
    change_setting,
)


@dataclass(frozen=True)
class Question:
    """How an RPC is asked: what it remembers and says, and what is known beforehand."""

    oldest: int
    knows_setting: bool
    knows_claim: bool
    hint: int | None
    """Ledger of the transaction that the facilitator named: the right one, or that of another call."""

    def __str__(self) -> str:
        parts = [
            f"history from ledger {self.oldest}",
            "" if self.knows_setting else "setting unread",
            "" if self.knows_claim else "claim ledger unknown",
            "" if self.hint is None else f"hint of ledger {self.hint}",
        ]
        return ", ".join(filter(None, parts))

    @property
    def shows_all(self) -> bool:
        return self.oldest <= FIRST and self.knows_setting and self.knows_claim

    def start(self, chain: Chain) -> Evidence:
        """Give what the nonce entry, or its absence, says."""
        window = Window(chain.ttl - 1, chain.ttl_since) if self.knows_setting else Window()
        entry = (chain.entry.modified, chain.entry.until) if chain.entry else (None, 0)
        reading = NonceReading(chain.now, window, *entry)
        first = FIRST if self.knows_claim else None
        return Evidence("job", first, EXPIRATION, reading, "" if self.hint is None else "hint")

    def learn(self, chain: Chain, evidence: Evidence, step: Step, span: Span | None) -> Evidence:
        """Take a step as `Inquiry` does."""
        evidence = replace(evidence, taken=evidence.taken | {step})
        if step is Step.HINT:
            return _seeing(evidence, self._uses(chain, self.hint or 0, self.hint or 0))
        first, last = span or (1, 0)
        seen = (max(first, self.oldest), last)
        spans = (seen,) if seen[0] <= last else ()
        if step is Step.EVENTS:
            paid = [one for one in self._uses(chain, first, last) if one.use is Use.PAID]
            return _seeing(replace(evidence, silent=() if paid else spans), paid)
        return _seeing(replace(evidence, scanned=spans), self._uses(chain, first, last))

    def _uses(self, chain: Chain, first: int, last: int) -> list[Sighting]:
        seen = [(ledger, use) for ledger, use in chain.uses if max(first, self.oldest) <= ledger <= last]
        return [Sighting(use, f"transaction of ledger {ledger}", ledger) for ledger, use in seen]


def _seeing(evidence: Evidence, found: list[Sighting]) -> Evidence:
    return replace(evidence, sightings=tuple(dict.fromkeys((*evidence.sightings, *found))))


def refuse(evidence: Evidence, step: Step) -> Evidence:
    return replace(evidence, taken=evidence.taken | {step}, trouble="the RPC refused")


def questions(chain: Chain) -> Iterator[Question]:
    """Give every way to ask after a history; what is pruned matters at the uses and at the ends only."""
    marks = {0, FIRST + 1, chain.now + 1} | {ledger + after for ledger, _ in chain.uses for after in (0, 1)}
    hints = (None, *(ledger for ledger, _ in chain.uses))
    for oldest, setting, claim, hint in product(sorted(marks), (True, False), (True, False), hints):
        yield Question(oldest, setting, claim, hint)


@dataclass(frozen=True)
class Counterexample:
    """A history after which the decision was wrong, or none was made though all could be seen."""

    history: tuple[str, ...]
    question: Question
    evidence: Evidence
    said: Decision
    truth: str

    def __str__(self) -> str:
        lines = [f"ledger {FIRST + place}: {act}" for place, act in enumerate(self.history)]
        steps = [*sorted(self.evidence.taken), *filter(None, [self.evidence.trouble])]
        asked = f"asked with {self.question}; steps: {', '.join(steps) or 'none'}"
        return "\n".join([*lines, asked, f"{self.said.verdict}: {self.said.reason}", f"but {self.truth}"])


@dataclass(frozen=True)
class Ruling:
    """What the rules make of some evidence."""

    decision: Decision
    steps: frozenset[Step]
    span: Span | None


class Exploration:
    """Explores breadth first, so that the first counterexample is a shortest one."""

    def __init__(self) -> None:
        self.chains = 0
        self._rulings: dict[Evidence, Ruling] = {}

    @property
    def decisions(self) -> int:
        """Count the different pieces of evidence that were decided."""
        return len(self._rulings)

    def run(self) -> Counterexample | None:
        """Explore all histories; the first counterexample, or None."""
        queue: deque[tuple[Chain, tuple[str, ...]]] = deque([(Chain(), ())])
        seen: set[Chain] = set()
        while queue:
            chain, history = queue.popleft()
            for name, after in _successors(chain):
                if after in seen:
                    continue
                seen.add(after)
                self.chains += 1
                found, denied = self._ask(after, (*history, name))
                if found is not None:
                    return found
                if after.now < LAST:
                    queue.append((replace(after, denied=denied), (*history, name)))
        return None

    def _ask(self, chain: Chain, history: tuple[str, ...]) -> tuple[Counterexample | None, bool]:
        """Ask in every way; with whether the payment was denied, now or before."""
        denied = chain.denied
        for question in questions(chain):
            for evidence in self._learned(chain, question, question.start(chain)):
                ruling = self._rule(evidence)
                if truth := _contradiction(chain, question, evidence, ruling):
                    return Counterexample(history, question, evidence, ruling.decision, truth), True
                denied = denied or ruling.decision.verdict is Verdict.UNPAID
        return None, denied

    def _learned(self, chain: Chain, question: Question, evidence: Evidence) -> Iterator[Evidence]:
        """Give the evidence after each step, answered or refused: a decision must be right at each moment."""
        yield evidence
        ruling = self._rule(evidence)
        step = next((step for step in Step if step in ruling.steps), None)
        if step is not None:
            yield from self._learned(chain, question, question.learn(chain, evidence, step, ruling.span))
            yield from self._learned(chain, question, refuse(evidence, step))

    def _rule(self, evidence: Evidence) -> Ruling:
        if evidence not in self._rulings:
            steps = frozenset(rules.useful_steps(evidence))
            self._rulings[evidence] = Ruling(rules.decide(evidence), steps, rules.searchable(evidence))
        return self._rulings[evidence]


def _successors(chain: Chain) -> Iterator[tuple[str, Chain]]:
    closed = chain.later()
    yield "nothing", closed
    for act in ACTS:
        after = act(closed)
        if after is not None:
            yield act.__name__.replace("_", " "), after


def _contradiction(chain: Chain, question: Question, evidence: Evidence, ruling: Ruling) -> str:
    """Hold a decision against the money; say what is wrong with it, if anything is."""
    verdict = ruling.decision.verdict
    if verdict is Verdict.PAID and not chain.is_paid:
        return "no money arrived"
    if chain.is_paid and (verdict is Verdict.UNPAID or chain.denied):
        return "the money arrived"
    is_over = chain.now > EXPIRATION and not ruling.steps and not evidence.trouble
    if verdict is Verdict.UNDECIDED and question.shows_all and is_over:
        return "everything could be seen"
    return ""
