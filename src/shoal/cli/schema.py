"""JSON schemas of plans and evidence."""

import json

import click

from shoal.cli.group import cli


@cli.command()
@click.argument(
    "file", required=False, default="plan", type=click.Choice(["plan", "evidence"]), metavar="[plan|evidence]"
)
def schema(file: str) -> None:
    """Print the JSON schema of plan files (for editors that complete and check) or of evidence.json.

    That of plan files describes plans for one table and for several linked ones.

    \b
    Examples:
      shoal schema > shoal-plan.schema.json
      shoal schema evidence > shoal-evidence.schema.json
    """
    from shoal.plan.linked_schema import plan_schema
    from shoal.report.evidence import evidence_schema

    click.echo(json.dumps(plan_schema() if file == "plan" else evidence_schema(), indent=2, default=str))
