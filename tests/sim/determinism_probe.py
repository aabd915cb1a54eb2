"""A program with everything that tends to differ from run to run; `test_loop.py` runs it under other hash seeds.

`python -m tests.sim.determinism_probe SEED` prints the order of events and the trace hash.
"""

import asyncio
import sys

from tests.sim.loop import SimLoop, simulate


async def probe(loop: SimLoop) -> list[str]:
    seen: list[str] = []

    async def child(name: str) -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            seen.append(f"cancelled {name}")
            raise

    async def worker(name: str) -> None:
        for step in range(3):
            seen.append(f"{name}.{step}")
            await asyncio.sleep(0 if step == 0 else 0.001)

    async def fail() -> None:
        await asyncio.sleep(1)
        raise ValueError

    async with asyncio.TaskGroup() as group:
        for number in range(8):
            group.create_task(worker(f"worker-{number}"))
    try:
        async with asyncio.TaskGroup() as group:
            for number in range(8):
                group.create_task(child(f"child-{number}"))
            group.create_task(fail())
    except* ValueError:
        seen.append("failed")
    return seen


def main() -> None:
    ballast = [bytearray(1000 + 7 * number) for number in range(len(sys.argv[2:]) * 100)]  # moves the heap
    result, trace_hash = simulate(int(sys.argv[1]), probe)
    print(" ".join(result), trace_hash)
    ballast.clear()


if __name__ == "__main__":
    main()
