"""Many plans tried on one table, to find those that give the most utility for the risk they leave.

A plan's section `explore` names methods and ranges of parameters:

    explore:
      method: [mdav, refined, microhybrid, local-synthesis, rank-swap, noise]
      k: [3, 5, 10]
      p: [0.02, 0.1]
      variance: [0.05, 0.2]
      risk: distance-linkage
      utility: propensity

Every method is tried with every value of the ranges that are parameters of it; a method may also be given
as its own steps (`{name: [steps]}`) with lists as ranges. Each combination is a whole plan, carried out in a
process of its own and judged by `shoal.assess`. Its figures are kept as soon as they are computed, so that
an exploration that was interrupted goes on where it stopped.
"""

from shoal.desk.frontier.candidates import Candidate, candidates
from shoal.desk.frontier.choice import CandidateOutcome
from shoal.desk.frontier.exploration import Frontier, explore, explored_so_far, listed

__all__ = ["Candidate", "Frontier", "CandidateOutcome", "candidates", "explore", "explored_so_far", "listed"]
