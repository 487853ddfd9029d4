"""Sequential synthesis by random forests (Caiola & Reiter 2010)."""

from typing import Annotated

from shoal.replace._trees.donors import Growing
from shoal.replace._trees.synthesiser import TreeSynthesiser
from shoal.vocabulary.prelude import Ge, Le, Setting, method


@method("forest", title="Sequential synthesis by forests", source="Caiola & Reiter (2010); Drechsler & Reiter (2011)")
class Forest(TreeSynthesiser):
    """As `cart`, but every value comes from one of many trees, drawn at random.

    Each tree is grown on a random draw of the records and looks at a random part of the columns at every node. Values
    are less close to the original's than those of a single tree: safer, and less useful. It makes up persons with all
    their rows in linked tables, too (`synthesis`).

    Parameters
    ----------
    trees
        Number of trees for each column.
    min_leaf, complexity
        As for `cart`.
    """

    trees: Annotated[int, Ge(2), Le(10_000)] = 25
    min_leaf: Annotated[int, Ge(1)] = 10
    complexity: Annotated[float, Ge(0), Le(1), Setting()] = 1e-8

    @property
    def growing(self) -> Growing:
        return Growing(min_leaf=self.min_leaf, complexity=self.complexity, trees=self.trees)
