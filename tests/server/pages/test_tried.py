"""What a trial of its fix makes of a cause."""

from datetime import UTC, datetime
from typing import Literal

import pytest
from inductorscope.analyze.measure.judge import Judged
from inductorscope.analyze.trial.numerics import Numerics
from inductorscope.analyze.trial.result import Answer, Improvement, Structure, Trial
from inductorscope.answers.parts import state_of
from inductorscope.answers.runs.diagnosis.cause import Cause
from inductorscope.answers.runs.diagnosis.diagnose import with_change, with_trial
from inductorscope.answers.trials.trials import IMPROVE, stored_improvement, trials_of
from inductorscope.answers.trials.words import EQUAL, outcome, structure, verdict
from inductorscope.formats.change import CUDA_GRAPHS, Change, Mark
from inductorscope.store.database.engine import sessions
from inductorscope.store.runs.diagnoses import write_diagnosis
from inductorscope.store.runs.draft import RunDraft
from inductorscope.store.tables.models import Run
from inductorscope.units import THIN
from sqlalchemy import Engine, select

from tests.conftest import ON_SQLITE
from tests.support.whole_runs import insert_run

GRAPHS = Change(inductor={CUDA_GRAPHS: "True"})


def cause(of: Literal["step", "compile time"] = "step") -> Cause:
    return Cause("waiting", "", "", "", wins_us=900.0, share=0.9, of=of, change=GRAPHS)


def trial(answer: Answer, change: Change = GRAPHS, recompiles: int = 0) -> Trial:
    return Trial(
        title="CUDA graphs",
        change=change,
        answer=answer,
        before=Structure(recompiles=2, compile_s=6.0),
        after=Structure(recompiles=recompiles, compile_s=2.0),
        judged=Judged(answer, -0.75, -0.8, -0.7, 0.002, 1.2, 0.3, 6),  # type: ignore[arg-type]
    )


def test_a_fix_that_helped_wins_what_it_won() -> None:
    found = with_trial(cause(), [trial("faster")])
    assert (found.known, found.share) == ("measured", 0.75)
    assert found.wins_us == pytest.approx(900.0)
    assert found.tried.replace("\u202f", " ").startswith(
        "tried: faster, 1.20 ms → 300 µs (95 %: 240 µs to 360 µs"
    )


@pytest.mark.parametrize("answer", ["no effect", "the same", "slower", "refused"])
def test_a_fix_without_gain_wins_nothing(answer: Answer) -> None:
    found = with_trial(cause(), [trial(answer)])
    assert (found.known, found.wins_us, found.share) == ("measured", 0.0, 0.0)


def test_a_search_is_told_in_words() -> None:
    found = Improvement(trials=[trial("faster"), trial("no effect")], complete=True)
    assert verdict(found) == ("No change makes it faster: 2 changes were tried, 1 without effect.")
    found.stopped = "The time is over."
    assert verdict(found).startswith("No change is known to make it faster: ")
    assert verdict(found).endswith(" The time is over.")
    won = trial("faster")
    found = Improvement(
        trials=[won], kept=[won.title], judged=won.judged, numerics=Numerics(answer="equal"),
        before=Structure(compile_s=2.0, peak_bytes=2**20),
        after=Structure(compile_s=2.9, peak_bytes=2**21),
    )  # fmt: skip
    said = verdict(found).replace(THIN, " ")
    assert said.startswith("4.00× (95 %: 3.33 to 5.00) over the program as it is: CUDA graphs; ")
    assert "compile +900 ms, peak memory +1.00 MiB, pays back after 1 000 steps. " in said
    assert said.endswith(f"The {EQUAL}.")
    assert outcome(won).replace(THIN, " ").startswith("tried: faster, 1.20 ms → 300 µs (")
    assert structure(won) == "recompiles 2 → 0"


def test_compiling_less_is_no_matter_of_a_steps_time() -> None:
    found = with_trial(cause("compile time"), [trial("the same")])
    assert found.known == "measured"
    assert found.wins_us == pytest.approx(4e6)
    assert with_trial(cause("compile time"), [trial("faster", recompiles=2)]).wins_us == 0.0


def test_only_a_trial_of_the_same_change_counts() -> None:
    other = trial("faster", Change(dynamic=True))
    assert with_trial(cause(), [other]) == cause()
    unclear = with_trial(cause(), [trial("cannot tell")])
    assert (unclear.wins_us, unclear.known, bool(unclear.tried)) == (900.0, "at most", True)


@ON_SQLITE
def test_the_overview_knows_what_a_search_tried_in_time(engine: Engine) -> None:
    late = Trial(title="CUDA graphs", change=GRAPHS, answer="cannot tell")
    assert with_trial(cause(), [late]) == cause()
    with sessions(engine)() as session:
        search = Improvement(trials=[trial("faster")])
        assert trials_of(session, "f" * 16, search) == search.trials


@ON_SQLITE
def test_what_is_tried_makes_a_kept_diagnosis_anew(engine: Engine) -> None:
    now = datetime(2026, 11, 28, tzinfo=UTC)
    draft = RunDraft(
        content_digest="f" * 64, name="a run", tags=[], origin="ingest", created_at=now, bytes_in=1
    )
    with sessions(engine).begin() as session:
        insert_run(session, draft)
    with sessions(engine)() as session:
        run = session.scalars(select(Run)).one()
        states = [state_of(session, run), state_of(session, run)]
        for complete, trials in ((False, []), (False, [trial("faster")]), (True, [])):
            found = stored_improvement(Improvement(trials=trials))
            write_diagnosis(session, run.id, IMPROVE, "job", now, complete=complete, result=found)
            session.flush()
            states.append(state_of(session, run))
    assert [states.count(state) for state in states] == [2, 2, 1, 1, 1]


@pytest.mark.parametrize(
    ("fix", "change"),
    [
        ("`torch._dynamo.config.ignore_logging_functions.add(log.debug)`: Dynamo leaves it out.",
         Change(ignored=("logging.Logger.debug",))),
        ("`torch._dynamo.config.reorderable_logging_functions.add(print)`: it then comes later.",
         Change(reordered=("print",))),
        ("Let Dynamo trace it: `torch._dynamo.config.capture_scalar_outputs = True`.",
         Change(dynamo={"capture_scalar_outputs": "True"})),
        ("Load in other processes: `DataLoader(…, num_workers=4, pin_memory=True)`.",
         Change(workers=4)),
        ("Move it out of the loop.", None),
    ],
)  # fmt: skip
def test_a_fix_that_names_a_setting_can_be_tried(fix: str, change: Change | None) -> None:
    found = with_change(Cause("graph breaks", "", fix, ""))
    assert found.change == change
    assert change is None or not change.problem()


def test_a_change_has_a_title() -> None:
    assert GRAPHS.title == "triton.cudagraphs=True"
    assert Change(dynamic=True, optimizer=True).title == "dynamic=True, optimizer=True"
    logs = Change(ignored=("logging.Logger.info", "log"), marks=(Mark("f", "x", 1),))
    assert logs.title == "marks=x.size(1), ignored=logging.Logger.info log"
