"""The one right to settle (S4)."""

from collections import Counter

from provider.jobs.model.job import Job
from provider.jobs.model.status import Status
from provider.jobs.store import keys
from tests.support.jobs import Platform
from tests.support.racing import race_rounds

ROUNDS = 100
RACERS = 16


def test_of_many_settlers_exactly_one_may_call(platform: Platform) -> None:
    """Seen to fail with check-then-set in place of the script: up to 16 winners in a round."""
    won: Counter[str] = Counter()
    template = platform.buy("before")

    def settle(job: Job, racer: int) -> None:
        if platform.store.begin_settlement(job, f"s{racer}", give_up_seconds=150) is not None:
            won[job.id] += 1

    race_rounds(RACERS, ROUNDS, lambda: _another(platform, template), settle)
    assert list(won.values()) == [1] * ROUNDS


def test_a_repeated_script_gives_the_settler_his_right_again(platform: Platform) -> None:
    """The client repeats a script whose reply was lost; nobody else gets the right by that."""
    job = platform.buy("before")
    first = platform.store.begin_settlement(job, "me", give_up_seconds=150)
    assert platform.store.begin_settlement(job, "me", give_up_seconds=150) == first
    assert platform.store.begin_settlement(job, "you", give_up_seconds=150) is None
    assert platform.store.begin_settlement(platform.job(job), "you", give_up_seconds=150) is None


def test_a_job_that_changed_is_not_settled(platform: Platform) -> None:
    """The settlement is begun for the job as it was read."""
    job = platform.buy("before")
    platform.store.move(job, Status.PAYMENT_UNCERTAIN)
    assert platform.store.begin_settlement(job, "me", give_up_seconds=150) is None


def test_only_its_settler_gives_the_right_back(platform: Platform) -> None:
    """S4: cleared by its owner."""
    job = platform.buy("before")
    platform.store.begin_settlement(job, "me", give_up_seconds=150)
    assert platform.store.withdraw_settlement(job.id, "you", look_seconds=15) is None
    assert platform.job(job).is_settling
    assert platform.store.withdraw_settlement(job.id, "me", look_seconds=15) is not None
    assert platform.store.begin_settlement(platform.job(job), "you", give_up_seconds=150)


def test_the_right_is_not_given_back_once_the_sweep_gave_it_up(platform: Platform) -> None:
    """J4: the chain decides then."""
    job = platform.buy("before")
    platform.store.begin_settlement(job, "me", give_up_seconds=150)
    platform.store.move(platform.job(job), Status.PAYMENT_UNCERTAIN)
    assert platform.store.withdraw_settlement(job.id, "me", look_seconds=15) is None
    assert platform.job(job).settling_since_ms is not None


def test_the_sweep_looks_when_the_settlement_counts_as_silent(platform: Platform) -> None:
    """§9: after settle time-out and margin, not before."""
    job = platform.buy("before")
    platform.store.begin_settlement(job, "me", give_up_seconds=150)
    looked_at = platform.store.client.zscore(keys.due("before"), job.id)
    assert 149_000 < looked_at - platform.store.now_ms() <= 150_000


def _another(platform: Platform, template: Job) -> Job:
    """Copy a pending job under a new id."""
    job_id = f"before.{platform.store.client.incr('test:copies'):032x}"
    platform.store.client.copy(keys.job(template.id), keys.job(job_id))
    return platform.store.get(job_id)
