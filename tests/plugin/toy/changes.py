from inductorscope.analyze.trial.catalogue import Entry
from inductorscope.formats.change import Change

INDUCTORSCOPE = "0.2"
ENTRIES = [
    Entry(
        title="Toy",
        applies=lambda known: True,
        change=Change(inductor={"toy": "True"}),
    )
]
