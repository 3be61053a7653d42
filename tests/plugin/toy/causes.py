from inductorscope.answers.runs.diagnosis.cause import Cleared
from inductorscope.answers.runs.diagnosis.evidence import Evidence

INDUCTORSCOPE = "0.2"


def too_many_toys(evidence: Evidence) -> Cleared:
    return Cleared(f"Run {evidence.id} has no toys.")


CHECKS = [too_many_toys]
