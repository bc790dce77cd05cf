"""What the ledger tells of an agent's promotions, for the policy that lets a flood wait."""

from skymem.jobs.seen import came_in
from skymem.jobs.sight import Sight
from skymem.model.rules import AgentRules
from skymem.policy.calibration import Calibration, Days


def calibration_of(sight: Sight, rules: AgentRules) -> Calibration:
    """What lets wait what is more than usual.

    The ledger is read once something would be promoted, from where it was read before.
    """
    work = sight.work
    own = rules.promotion
    if work.uncalibrated:
        own = own._replace(calibrate="none")

    def past() -> Days:
        files = None if work.rehearsing else work.files
        return work.promoted_days().of(sight.agent, files)

    def new() -> int:
        return came_in(sight.agent, sight.catalog, sight.reading)

    return Calibration(rules._replace(promotion=own), work.rules.kinds, work.now(), past, new)
