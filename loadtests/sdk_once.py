"""`python -m loadtests.sdk_once async-producer --url URL --seconds 3`: one round of the SDK's rates in a process of its
own, as an application would have it. Prints the rate as JSON."""

from typing import Annotated

import msgspec
import typer

from loadtests.sdk_rates import KEYS, RUNS, keys_of


def main(
    name: str, url: Annotated[str, typer.Option()], seconds: Annotated[float, typer.Option(min=0.1, max=60)]
) -> None:
    if name not in RUNS:
        raise typer.BadParameter(f"{name} is none of {', '.join(RUNS)}")
    rate = RUNS[name](url, seconds, keys_of(len(KEYS), has_keys=True))
    typer.echo(msgspec.json.encode(rate).decode())


if __name__ == "__main__":
    typer.run(main)
