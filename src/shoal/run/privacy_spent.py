"""Account for differential privacy: what a plan must be like for its epsilon to be what anyone can learn.

The noise of one step is proved for the cells that it is added to. The promise for a release rests on more: that
nothing else which is released has looked at those cells. A step that groups records by an income, imputes it or
repairs it against other columns carries the income into cells that have no noise. So private noise comes first, on
cells that are their record's own, and whatever follows works on what is released anyway, which costs no privacy. A
plan in which this is not so is refused before any record is seen. A method whose promise is for whole records must work
on every column that is released, and nothing that it rests on may come from the table. The theorems and their proofs
stand in docs/explanation/differential-privacy.md.
"""

from collections.abc import Iterable, Iterator, Sequence

from shoal.judges.privacy_bought import PrivacyBought
from shoal.plan import Plan
from shoal.plan.steps import Step
from shoal.privacy.of_units import UnitModel
from shoal.table.hierarchy_forms import form_of, of_values
from shoal.table.schema import UNITS
from shoal.table.step_result import StepAccount
from shoal.vocabulary.errors import PlanError
from shoal.vocabulary.facts import Facts, Figure, losses

OF_FIXED_HEIGHT = ("intervals", "rounding", "dates", "priority")
"""Forms of hierarchies, of a column's values, whose levels are as many whatever the values."""


SAYS_NOTHING = 10.0
"""An epsilon over it lets the odds of any guess at a cell change by a factor of 22 000."""


def private_steps(plan: Plan) -> tuple[Step, ...]:
    """The steps of a plan that spend differential privacy."""
    return tuple(step for step in plan.steps if step.own_cells)


def makes_records(plan: Plan) -> bool:
    """True if the records of a release are nobody's, and come in no relation to those of the table."""
    return any(step.makes_records for step in plan.steps)


def noisy_columns(plan: Plan) -> set[str]:
    """The columns whose cells get private noise: nothing else may depend on what they were, not even their decimals."""
    return {name for step in private_steps(plan) for name in _columns(plan, step)}


def columns_not_looked_at(plan: Plan) -> set[str]:
    """The columns with private noise whose released cells are not compared with the original: that is not paid for.

    An epsilon over `SAYS_NOTHING` hides no cell. There they are compared all the same, unless the plan requires
    differential privacy.
    """
    required = any(model.of_account for model in plan.requirements)
    steps = [step for step in private_steps(plan) if required or step.method.epsilon <= SAYS_NOTHING]
    return {name for step in steps for name in _columns(plan, step)}


def check_accounted(plan: Plan, in_rules: Iterable[str]) -> None:
    """Refuse a plan whose private noise does not bound all that the release tells of the cells under it.

    Parameters
    ----------
    in_rules
        The columns that the plan's rules name.

    Raises
    ------
    PlanError
        Naming the step, the column, and what to change.
    """
    private = private_steps(plan)
    if not private:
        return
    _check_order(plan.steps)
    _check_columns(plan, private)
    _check_persons(private)
    _check_whole_records(plan, private)
    if plan.broken_rules == "repair" and (named := sorted(noisy_columns(plan) & set(in_rules))):
        raise PlanError(
            f"constraints: broken_rules: repair would let the cells of '{named[0]}' move others before "
            f"{private[0].name} adds its noise, and nobody accounts for what these then tell. Say refuse or report."
        )
    for model in plan.requirements:
        if model.needs_original:
            raise PlanError(
                f"{model.method_name} compares the release with the original, and whether it holds is not paid for by "
                f"{private[0].name}. Take one of the two out."
            )


def _columns(plan: Plan, step: Step) -> tuple[str, ...]:
    return step.columns or plan.schema.names(*step.default_roles)


def _check_order(steps: Sequence[Step]) -> None:
    """Private steps stand before all others: these may look at any cell."""
    earlier = ""
    for step in steps:
        if step.own_cells and earlier:
            raise PlanError(
                f"{step.name}: the step {earlier} comes before it, and what that step releases may tell of cells whose "
                f"noise comes later, beyond epsilon. Let {step.name} come first; what follows it costs no privacy."
            )
        earlier = earlier or (step.name if not step.own_cells else "")


def _check_columns(plan: Plan, private: Sequence[Step]) -> None:
    """Noise is for cells that are their record's own and that have none yet."""
    noisy: set[str] = set()
    for step in private:
        for name in _columns(plan, step):
            if plan.schema.columns[name].missing_policy == "impute":
                raise PlanError(
                    f"{step.name}: missing cells of '{name}' are imputed from other records, whose privacy loss nobody "
                    f"accounts for. Set missing: drop or refuse for the column."
                )
            if name in noisy:
                raise PlanError(f"{step.name}: an earlier step added its noise to '{name}'. Name a column in one step.")
            noisy.add(name)


def _check_persons(private: Sequence[Step]) -> None:
    """The epsilons of steps add up for one person only where all count that person's records alike."""
    numbers = {step.method.records_per_person for step in private}
    if len(numbers) > 1:
        raise PlanError(
            f"records_per_person must be the same in all steps that add private noise, for their epsilons add up by "
            f"person; got {' and '.join(map(str, sorted(numbers)))}. Give the larger number to all."
        )


def _check_whole_records(plan: Plan, private: Sequence[Step]) -> None:
    """A promise for whole records holds where all that is released of a record is the method's."""
    for step in (private_step for private_step in private if private_step.method.whole_records):
        if len(private) > 1:
            raise PlanError(
                f"{step.name} promises for whole records, which other private noise does not. Let it be the only one."
            )
        if step.makes_records and len(plan.steps) > 1:
            raise PlanError(
                f"{step.name} makes records that are nobody's, and {plan.steps[1].name} would take them for those of "
                f"the table. Let it be the only step, and protect its release further by a plan of its own."
            )
        if not (step.makes_records or plan.output.shuffle):
            raise PlanError(
                f"output: shuffle must be true, for in the order of the table a record tells by those beside it which "
                f"one it is, and {step.name} hides it among those that are alike."
            )
        if plan.edit_rules.rules:
            raise PlanError(
                f"{step.name}: whether the records keep the plan's rules is looked at before, and nobody accounts for "
                f"what that tells. Take the constraints out."
            )
        released = set(plan.schema.columns) - plan.taken_out
        columns = _columns(plan, step)
        if bare := sorted(released - set(columns)):
            raise PlanError(
                f"{step.name}: '{bare[0]}' is released and not among its columns, and would tell what they hide. "
                f"Name it in the step, or make it an identifier, which is taken out."
            )
        for name in columns:
            _check_hierarchy(plan, step, name)
        _check_units(plan, step)


def _check_units(plan: Plan, step: Step) -> None:
    """Refuse requirements that count persons or households by a column that only the original has."""
    for model in plan.requirements:
        if not isinstance(model, UnitModel):
            continue
        unit = model.unit or "person"  # the default where there is such a column
        if unit in UNITS and (hidden := sorted(plan.taken_out & set(plan.schema.names(unit)))):
            raise PlanError(
                f"{model.method_name} counts by '{hidden[0]}', which is not released, and whether it holds then is not "
                f"paid for by {step.name}. Say unit: record, or take one of the two out."
            )


def _check_hierarchy(plan: Plan, step: Step, name: str) -> None:
    """Refuse a hierarchy whose labels or levels would follow from the values of the table."""
    hierarchy = plan.schema.columns[name].hierarchy
    if hierarchy is None or not of_values(hierarchy):
        return
    if step.makes_records:
        raise PlanError(
            f"{step.name}: the hierarchy of '{name}' is made of the values that the table has, and so tells of them. "
            f"Take it out: the column's categories are those of the domain."
        )
    form, _ = form_of(hierarchy)
    if form not in OF_FIXED_HEIGHT or step.method.loss != "precision":
        raise PlanError(
            f"{step.name}: the hierarchy of '{name}' is made of the values that the table has, and so tells of them. "
            f"Name a file made of all values that there can be"
            + (", or say loss: precision." if form in OF_FIXED_HEIGHT else ".")
        )


def bought(plan: Plan, accounts: Iterable[StepAccount]) -> PrivacyBought:
    """What the private steps of a plan that was carried out bound of all that is released."""
    private = private_steps(plan)
    of_steps = tuple(loss for account in accounts if account.place is not None for loss in losses(account.facts))
    whole = bool(private) and all(_hides_whether(step) for step in private)
    return PrivacyBought(
        losses=of_steps,
        whole=whole,
        records=max((step.method.records_per_person for step in private), default=1),
        persons=whole and makes_records(plan) and bool(plan.schema.names("person")),
        beyond=next(_beyond(plan, private), ""),
    )


def _beyond(plan: Plan, private: Sequence[Step]) -> Iterator[str]:
    """What is released, or decides whether anything is, and depends on the table beside the private steps."""
    noisy = noisy_columns(plan)
    for name in sorted(set(plan.schema.columns) - plan.taken_out - noisy):
        yield f"'{name}' is released as it is or changed by other steps, and no private step works on it."
    if plan.edit_rules.rules:
        yield "whether the table keeps the plan's rules is looked at, and nobody pays for it. Take the constraints out."
    if plan.ledger is not None and any(step.method.whole_records and not step.makes_records for step in private):
        yield "the ledger looks at whose records were drawn, and nobody pays for a stop by it. Take the ledger out."
    for step in plan.steps:
        if step in private or getattr(step.method, "takes_identifiers_out", False):
            continue
        reads = step.trace(plan.schema).reads
        if hidden := sorted((set(plan.schema.columns) if reads is None else set(reads)) - noisy):
            yield f"{step.name} may look at '{hidden[0]}', on which no private step works. Take the step out."
    for step in (each for each in private if not _hides_whether(each)):
        for name in _columns(plan, step):
            column = plan.schema.columns[name]
            if column.missing_policy != "refuse":
                yield f"which cells of '{name}' are missing has no noise. Say missing: refuse for the column."
            if column.hierarchy is not None and of_values(column.hierarchy):
                yield f"the hierarchy of '{name}' is made of the values that the table has. Take it out."
        if persons := plan.schema.names("person"):
            yield (
                f"{step.name} leaves a person's records as many as they are, and '{persons[0]}' may have more of them "
                f"than records_per_person. Take out whose records they are, if each has so many at most."
            )


def _hides_whether(step: Step) -> bool:
    """True if a private step hides whether a person is in the table, and not what a record holds alone."""
    return bool(step.method.whole_records and not step.method.public_size)


def spent(steps: Iterable[Facts]) -> Facts:
    """Differential privacy composes: the losses of steps add up. No facts where none was spent."""
    spends = [loss for facts in steps for loss in losses(facts)]
    epsilon = Figure(value=sum(loss.epsilon for loss in spends), influence=0)
    delta = Figure(value=sum(loss.delta for loss in spends), influence=0)
    if not spends:
        return {}
    return {"epsilon of all steps": epsilon, **({"delta of all steps": delta} if delta.value else {})}
