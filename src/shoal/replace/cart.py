"""Sequential synthesis by classification and regression trees (Reiter 2005)."""

from typing import Annotated

from shoal.replace._trees.donors import Growing
from shoal.replace._trees.synthesiser import TreeSynthesiser
from shoal.vocabulary.prelude import Ge, Le, Setting, method


@method("cart", title="Sequential synthesis by trees", source="Reiter (2005); Drechsler & Reiter (2011)")
class Cart(TreeSynthesiser):
    """Columns drawn one after the other from donors that a tree, grown on the columns before, puts beside the record.

    Any level of measurement; missing values are synthesised as such, heaps and the column's decimals kept, what never
    occurs together (though chance would have it) kept apart. With one group (`whole`) the table
    is fully synthetic; in the groups of another partition every group has its own trees. No guarantee of privacy
    follows from the method: what is required is proved on the release, what can be attacked is measured. In a plan for
    linked tables the section `synthesis` makes up persons with all their rows by these trees.

    Parameters
    ----------
    min_leaf
        Fewest original records of a leaf: the donors that a value is drawn from. In a table with a person column a leaf
        holds records of so many different persons.
    complexity
        Share of the root's impurity by which a split must lower it.

    Notes
    -----
    Drechsler & Reiter (2011) compare trees with parametric models and forests, and find trees the most useful and
    forests the safest of them.
    """

    min_leaf: Annotated[int, Ge(1)] = 10
    complexity: Annotated[float, Ge(0), Le(1), Setting()] = 1e-8

    @property
    def growing(self) -> Growing:
        return Growing(min_leaf=self.min_leaf, complexity=self.complexity)
