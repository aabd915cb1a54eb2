"""When a disk counts as taking nothing, and when as well again."""

from storage.node.disk_health import DiskHealth, DiskHealthSettings

RESERVE = 1_000_000
SETTINGS = DiskHealthSettings(full_bytes=1_000, stall_ms=3_000, calm_ms=30_000)


class Disk:
    def __init__(self) -> None:
        self.health = DiskHealth(SETTINGS)

    def look(self, now_ms: int, *, free: int = 10 * RESERVE, pending: int = 0, rounds: int = 0) -> str | None:
        self.health.look(free_bytes=free, reserve_bytes=RESERVE, pending_bytes=pending, rounds=rounds, now_ms=now_ms)
        return self.health.impairment


def test_a_disk_with_less_than_its_reserve_is_full_at_once() -> None:
    disk = Disk()
    assert disk.look(0, free=RESERVE) is None
    assert disk.look(500, free=RESERVE - 1) == "999999 bytes are free, of the 1000000 that are kept back"


def test_without_a_reserve_a_disk_is_full_when_nothing_is_free() -> None:
    health = DiskHealth(SETTINGS)
    health.look(free_bytes=999, reserve_bytes=0, pending_bytes=0, rounds=0, now_ms=0)
    assert health.impairment is not None


def test_it_is_well_after_a_while_with_some_room() -> None:
    disk = Disk()
    disk.look(0, free=0)
    enough = RESERVE + RESERVE // 4
    assert disk.look(1_000, free=enough) is not None
    assert disk.look(20_000, free=enough - 1) is not None, "that begins anew"
    assert disk.look(21_000, free=enough) is not None
    assert disk.look(50_999, free=enough) is not None
    assert disk.look(51_000, free=enough) is None


def test_a_disk_that_goes_from_full_to_nearly_full_is_not_well() -> None:
    disk = Disk()
    disk.look(0, free=0)
    assert all(disk.look(now_ms, free=RESERVE + 1) for now_ms in range(0, 100_000, 500))


def test_appends_that_wait_while_nothing_is_written_tell_of_a_disk_that_stands_still() -> None:
    disk = Disk()
    disk.look(0, pending=10, rounds=5)
    assert disk.look(2_999, pending=10, rounds=5) is None
    assert disk.look(3_000, pending=10, rounds=5) == "nothing was written for 3000 ms"


def test_a_busy_or_an_idle_disk_does_not_stand_still() -> None:
    disk = Disk()
    assert not any(disk.look(now_ms, pending=10, rounds=now_ms) for now_ms in range(0, 60_000, 1_000))
    assert not any(disk.look(now_ms, rounds=7) for now_ms in range(60_000, 90_000, 1_000))
    assert disk.look(91_000, pending=10, rounds=7) is None, "it has only just begun to wait"
