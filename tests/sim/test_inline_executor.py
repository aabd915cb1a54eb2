import asyncio

import pytest

from tests.sim.inline_executor import InlineExecutor


async def test_other_tasks_run_before_the_function_but_not_during_it() -> None:
    executor = InlineExecutor()
    seen: list[str] = []

    async def call(name: str) -> None:
        seen.append(f"{name} asks")
        await executor.run(lambda: seen.append(f"{name} runs"))

    await asyncio.gather(call("a"), call("b"))
    assert seen == ["a asks", "b asks", "a runs", "b runs"]
    assert executor.calls == 2


async def test_errors_pass_and_a_closed_one_refuses() -> None:
    executor = InlineExecutor()
    with pytest.raises(ZeroDivisionError):
        await executor.run(lambda: 1 // 0)
    executor.close()
    with pytest.raises(RuntimeError):
        await executor.run(lambda: 1)
