"""`acklog pki`, in this process: what it writes, what it shows, and what it refuses without having changed anything."""

import fcntl
import os
import ssl
import stat
from pathlib import Path

import pytest

from acklog.command.exit_codes import ExitCode
from app.commands.file_access import FileAccess
from app.pki.certificate_file import read_certificate, read_x509
from tests.support.command_run import CommandRun, run_command
from tests.support.own_authority import DAY_MS, NOW_MS
from tests.support.tls_handshake import handshake


class Pki:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_ms = NOW_MS

    def run(self, *words: str) -> CommandRun:
        return run_command("pki", *words, "--json", surroundings={"now_ms": lambda: self.now_ms})

    def done(self, *words: str) -> CommandRun:
        where = [str(self.path)] if words[0] == "init" else ["--dir", str(self.path)]
        ran = self.run(*words, *where)
        assert ran.exit_code == 0, ran.stderr
        return ran

    def refused(self, *words: str) -> str:
        """What is said. Nothing has changed."""
        before = self.content()
        ran = self.run(*words, "--dir", str(self.path))
        assert (ran.exit_code, ran.stdout) == (ExitCode.USAGE, ""), ran
        assert self.content() == before
        return str(ran.error["detail"])

    def content(self) -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in sorted(self.path.glob("*"))} if self.path.exists() else {}

    def shown(self) -> dict[str, dict[str, object]]:
        """By kind and name, without the authorities."""
        rows = self.done("show").document["certificates"]
        return {f"{row['kind']} {row['name']}".strip(): row for row in rows if row["kind"] != "ca"}

    def authorities(self) -> list[str]:
        return [row["name"] for row in self.done("show").document["certificates"] if row["kind"] == "ca"]

    def shake(self, server: str, *, ca: bytes | None = None, client: str = "") -> None:
        """A handshake by the files as they are; `ca` is a `ca.pem` that somebody got earlier."""
        serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        serving.load_cert_chain(self.path / f"{server}.pem", self.path / f"{server}-key.pem")
        calling = ssl.create_default_context(cadata=(ca or (self.path / "ca.pem").read_bytes()).decode())
        if client:
            serving.verify_mode = ssl.CERT_REQUIRED
            serving.load_verify_locations(cadata=(ca or (self.path / "ca.pem").read_bytes()).decode())
            calling.load_cert_chain(self.path / f"{client}.pem", self.path / f"{client}-key.pem")
        handshake(serving, calling, "localhost")


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    made = Pki(tmp_path / "pki")
    made.done("init")
    return made


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def owner_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_uid, found.st_gid


class TestInit:
    def test_only_its_owner_may_read_the_key(self, tmp_path: Path) -> None:
        before = os.umask(0)
        try:
            made = Pki(tmp_path / "own")
            document = made.done("init", "--name", "Shop", "--days", "30").document
        finally:
            os.umask(before)
        assert mode_of(made.path) == 0o700
        assert mode_of(made.path / "ca-key.pem") == 0o600
        assert sorted(made.content()) == ["ca-key.pem", "ca.pem"]
        assert document["name"].startswith("Shop ")
        found = read_certificate((made.path / "ca.pem").read_bytes())
        assert found.not_after_ms == NOW_MS // 1000 * 1000 + 30 * DAY_MS

    def test_nothing_that_is_there_is_touched(self, pki: Pki, tmp_path: Path) -> None:
        before = pki.content()
        ran = pki.run("init", str(pki.path))
        assert (ran.exit_code, pki.content()) == (ExitCode.USAGE, before)
        assert "is there already" in ran.error["detail"]
        ran = pki.run("init", str(tmp_path / "none" / "pki"))
        assert ran.exit_code == ExitCode.USAGE
        assert not (tmp_path / "none").exists()

    def test_a_name_that_cannot_be_leaves_no_directory(self, tmp_path: Path) -> None:
        ran = Pki(tmp_path / "x").run("init", str(tmp_path / "x"), "--name", "a" * 51)
        assert (ran.exit_code, ran.error["field"]) == (ExitCode.USAGE, "--name")
        assert not (tmp_path / "x").exists()


class TestIssue:
    def test_one_of_each_kind(self, pki: Pki) -> None:
        pki.done("issue", "node", "1", "--host", "localhost", "--host", "10.0.0.1")
        pki.done("issue", "gateway", "--host", "localhost")
        pki.done("issue", "gateway", "east", "--host", "localhost")
        pki.done("issue", "client", "orders", "--days", "7")
        pki.done("issue", "etcd", "etcd-0", "--host", "localhost")
        document = pki.done("issue", "server").document
        assert document["hosts"] == ["localhost", "127.0.0.1", "::1"]
        assert document["identity"] == "acklog://server"
        shown = pki.shown()
        assert sorted(shown) == ["client orders", "etcd etcd-0", "gateway", "gateway east", "node 1", "server"]
        assert shown["node 1"]["hosts"] == ["localhost", "10.0.0.1"]
        assert (shown["node 1"]["daysLeft"], shown["client orders"]["daysLeft"]) == (89, 6)
        for server in ("node-1", "gateway", "gateway-east", "etcd-etcd-0", "server"):
            pki.shake(server, client="client-orders")
            assert mode_of(pki.path / f"{server}-key.pem") == 0o600
            assert mode_of(pki.path / f"{server}.pem") == 0o644
        assert not list(pki.path.glob(".*"))

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (["node", "0", "--host", "a"], "'0' is no id of a node"),
            (["node", "1"], "node-1 needs a host"),
            (["gateway"], "gateway needs a host"),
            (["etcd", "a"], "etcd-a needs a host"),
            (["server", "--host", "http://a"], "more than a host"),
            (["node", "1", "--host", "a", "--days", "0"], "0 days are not 1 to 3650"),
            (["client", "../a"], "cannot be a name"),
            (["client", "a-key"], "ends with 'key'"),
            (["client", "a", "--days", "3650"], "before client-a would"),
        ],
    )
    def test_what_cannot_be(self, pki: Pki, words: list[str], says: str) -> None:
        pki.now_ms += DAY_MS
        assert says in pki.refused("issue", *words)

    def test_what_is_there_is_not_replaced(self, pki: Pki) -> None:
        pki.done("issue", "client", "orders")
        assert "has a certificate already" in pki.refused("issue", "client", "orders")
        (pki.path / "client-orders.pem").unlink()
        assert "has a certificate already" in pki.refused("issue", "client", "orders")

    def test_an_authority_that_has_ended(self, pki: Pki) -> None:
        pki.now_ms += 3651 * DAY_MS
        assert "ended at" in pki.refused("issue", "client", "orders")

    def test_the_key_of_another(self, pki: Pki, tmp_path: Path) -> None:
        other = Pki(tmp_path / "other")
        other.done("init")
        (pki.path / "ca-key.pem").write_bytes((other.path / "ca-key.pem").read_bytes())
        for words in (["issue", "client", "a"], ["show"], ["renew", "--all"], ["rotate-ca"]):
            assert "ca-key.pem belongs to no certificate in ca.pem" in pki.refused(*words)

    @pytest.mark.parametrize(("name", "says"), [("ca-key.pem", "no private key"), ("ca.pem", "no certificate")])
    def test_files_that_are_damaged(self, pki: Pki, name: str, says: str) -> None:
        (pki.path / name).write_bytes(b"")
        said = pki.refused("issue", "client", "a")
        assert said.startswith(str(pki.path / name))
        assert says in said
        (pki.path / name).write_bytes(b"x" * (1 << 20) + b"x")
        assert "more than 1048576 bytes" in pki.refused("issue", "client", "a")

    @pytest.mark.parametrize("words", [["issue", "client", "a"], ["renew"], ["show"], ["rotate-ca"]])
    def test_no_directory(self, tmp_path: Path, words: list[str]) -> None:
        assert "there is no directory" in Pki(tmp_path / "none").refused(*words)
        (tmp_path / "none").mkdir()
        assert "holds no authority" in Pki(tmp_path / "none").refused(*words)

    def test_one_command_at_a_time(self, pki: Pki) -> None:
        descriptor = os.open(pki.path, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            assert "another command works on" in pki.refused("issue", "client", "a")
        finally:
            os.close(descriptor)
        pki.done("issue", "client", "a")

    def test_others_who_may_read_are_warned_of(self, pki: Pki) -> None:
        pki.done("issue", "client", "a")
        assert pki.done("show").stderr == ""
        pki.path.chmod(0o755)
        (pki.path / "client-a-key.pem").chmod(0o640)
        warned = pki.done("show").stderr
        assert f"chmod 700 {pki.path}\n" in warned
        assert f"chmod 600 {pki.path / 'client-a-key.pem'}\n" in warned
        assert "ca-key.pem" not in warned

    @pytest.mark.parametrize("nth", [1, 2], ids=["the key", "the certificate"])
    @pytest.mark.parametrize("words", [("renew", "--all"), ("issue", "client", "b")], ids=lambda each: each[0])
    def test_a_write_that_fails_leaves_what_was_there(
        self, pki: Pki, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], nth: int
    ) -> None:
        pki.done("issue", "client", "a")
        sync, synced = os.fsync, []

        def fail(descriptor: int) -> None:
            synced.append(descriptor)
            if len(synced) == nth:
                raise OSError(28, "No space left on device")
            sync(descriptor)

        before = pki.content()
        monkeypatch.setattr(os, "fsync", fail)
        ran = pki.run(*words, "--dir", str(pki.path))
        monkeypatch.undo()
        assert ran.exit_code == ExitCode.USAGE
        assert "No space left on device" in ran.error["detail"]
        assert pki.content() == before
        assert not list(pki.path.glob(".*"))
        pki.done(*words)

    def test_not_more_than_one_person_looks_after(self, pki: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("app.commands.pki_directory.CERTIFICATES_MAX", 2)
        for name in ("a", "b", "c"):
            pki.done("issue", "client", name)
        assert "holds more than 2 certificates" in pki.refused("renew")


class TestRenew:
    def test_what_ends_soon(self, pki: Pki) -> None:
        pki.done("issue", "server", "--host", "localhost", "--host", "::1")
        pki.done("issue", "client", "orders", "--days", "20")
        pki.shake("server", client="client-orders")
        before = pki.content()
        renewed = pki.done("renew").document["renewed"]
        assert [(each["kind"], each["name"], each["daysLeft"]) for each in renewed] == [("client", "orders", 19)]
        after = pki.content()
        assert {name for name in after if after[name] != before[name]} == {"client-orders.pem", "client-orders-key.pem"}
        pki.shake("server", client="client-orders")
        pki.now_ms += 61 * DAY_MS
        renewed = pki.done("renew", "--within-days", "29").document["renewed"]
        assert [(each["kind"], each["hosts"], each["daysLeft"]) for each in renewed] == [
            ("client", [], 19),
            ("server", ["localhost", "::1"], 89),
        ]

    def test_for_as_long_as_is_said(self, pki: Pki) -> None:
        pki.done("issue", "client", "orders")
        assert pki.done("renew", "--all", "--days", "9").document["renewed"][0]["daysLeft"] == 8
        assert "0 days are not" in pki.refused("renew", "--all", "--days", "0")

    def test_nothing_is_due(self, pki: Pki) -> None:
        pki.done("issue", "client", "orders")
        before = pki.content()
        assert pki.done("renew").document == {"renewed": []}
        assert pki.content() == before

    def test_nothing_changes_where_one_cannot_be_renewed(self, pki: Pki) -> None:
        pki.done("issue", "client", "a")
        pki.done("issue", "client", "b", "--days", "400")
        pki.now_ms += 3650 * DAY_MS - 399 * DAY_MS
        assert "before client-b would" in pki.refused("renew", "--all")

    def test_a_certificate_of_somebody_else(self, pki: Pki) -> None:
        pki.done("issue", "client", "a")
        pki.done("issue", "client", "b")
        (pki.path / "client-a.pem").write_bytes((pki.path / "client-b.pem").read_bytes())
        assert "client-a.pem is of acklog://client/b, not of acklog://client/a" in pki.refused("renew", "--all")

    def test_what_an_interruption_left_is_renewed(self, pki: Pki) -> None:
        """The key was written, and the certificate was not."""
        pki.done("issue", "client", "a")
        pki.done("issue", "client", "b")
        (pki.path / "client-a-key.pem").write_bytes((pki.path / "client-b-key.pem").read_bytes())
        assert "key is missing or another's" in str(pki.shown()["client a"]["note"])
        assert len(pki.done("renew").document["renewed"]) == 1
        assert "note" not in pki.shown()["client a"]


class TestOwners:
    """Of files that are replaced: by root, say, while a service's user and its group read them."""

    def test_a_renewed_file_has_the_mode_that_it_had(self, pki: Pki) -> None:
        pki.done("issue", "client", "a")
        (pki.path / "client-a-key.pem").chmod(0o640)
        (pki.path / "client-a.pem").chmod(0o600)
        pki.done("renew", "--all")
        assert (mode_of(pki.path / "client-a-key.pem"), mode_of(pki.path / "client-a.pem")) == (0o640, 0o600)

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
    def test_a_renewed_file_belongs_to_whom_it_belonged(self, pki: Pki) -> None:
        pki.done("issue", "client", "a")
        for name in ("ca.pem", "ca-key.pem", "client-a.pem", "client-a-key.pem"):
            os.chown(pki.path / name, 1234, 2345)
        before = pki.content()
        pki.done("rotate-ca")
        pki.done("renew", "--all")
        pki.done("rotate-ca", "--finish")
        after = pki.content()
        assert sorted(after) == sorted(before)
        assert not any(after[name] == before[name] for name in before)
        assert {name: owner_of(pki.path / name) for name in after} == dict.fromkeys(after, (1234, 2345))

    def test_who_may_not_give_it_back_replaces_nothing(self, pki: Pki, monkeypatch: pytest.MonkeyPatch) -> None:
        """A file of its owner alone would end the service that reads it by its group."""
        pki.done("issue", "client", "a")
        stat_of = FileAccess.of

        def of_another_group(path: Path) -> FileAccess | None:
            found = stat_of(path)
            return None if found is None else found._replace(group=found.group + 1)

        def refuse(descriptor: int, owner: int, group: int) -> None:
            raise PermissionError(1, "Operation not permitted")

        monkeypatch.setattr(FileAccess, "of", of_another_group)
        monkeypatch.setattr(os, "fchown", refuse)
        assert "Operation not permitted" in pki.refused("renew", "--all")
        assert not list(pki.path.glob(".*"))


class TestShow:
    def test_for_people(self, pki: Pki) -> None:
        pki.done("issue", "node", "1", "--host", "localhost")
        text = run_command("pki", "show", "--dir", str(pki.path)).stdout
        assert "SIGNED BY" in text
        assert "DAYS LEFT" in text
        assert "localhost" in text

    def test_what_another_authority_has_signed(self, pki: Pki, tmp_path: Path) -> None:
        other = Pki(tmp_path / "other")
        other.done("init")
        other.done("issue", "client", "a")
        for name in ("client-a.pem", "client-a-key.pem"):
            (pki.path / name).write_bytes((other.path / name).read_bytes())
        assert pki.shown()["client a"]["signedBy"] is None


class TestRotation:
    def test_trust_never_breaks(self, pki: Pki) -> None:
        pki.done("issue", "server")
        pki.done("issue", "client", "old")
        [old] = pki.authorities()
        first_ca = (pki.path / "ca.pem").read_bytes()

        pki.done("rotate-ca")
        assert pki.authorities()[1] == old
        pki.shake("server", ca=first_ca, client="client-old")  # nobody has the bundle yet
        pki.done("issue", "client", "between")  # while some have it and some do not, all trust what is issued
        pki.shake("server", ca=first_ca, client="client-between")
        pki.shake("server", client="client-between")
        bundle = (pki.path / "ca.pem").read_bytes()
        assert len(read_x509(bundle)) == 2

        assert "not signed by the new authority yet" in pki.refused("rotate-ca", "--finish")
        pki.done("renew", "--all")
        assert {each["signedBy"] for each in pki.shown().values()} == {pki.authorities()[0]}
        assert not (pki.path / "ca-next-key.pem").exists()
        pki.shake("server", ca=bundle, client="client-old")
        assert "a rotation is under way" in pki.refused("rotate-ca")

        new = pki.authorities()[0]
        pki.done("rotate-ca", "--finish")
        assert pki.authorities() == [new]
        pki.shake("server", client="client-old")
        pki.shake("server", ca=bundle, client="client-between")  # who has not got the last ca.pem yet
        with pytest.raises(ssl.SSLCertVerificationError):
            pki.shake("server", ca=first_ca)
        assert "no rotation is under way" in pki.refused("rotate-ca", "--finish")
        pki.done("rotate-ca")

    def test_certificates_that_end_meanwhile_are_renewed_by_the_old_one(self, pki: Pki) -> None:
        pki.done("issue", "server", "--days", "10")
        first_ca = (pki.path / "ca.pem").read_bytes()
        pki.done("rotate-ca")
        pki.done("renew")
        pki.shake("server", ca=first_ca)

    def test_of_an_authority_that_has_signed_nothing(self, pki: Pki) -> None:
        pki.done("rotate-ca", "--days", "100")
        pki.done("rotate-ca", "--finish")
        assert len(pki.authorities()) == 1
        pki.done("issue", "server")
        pki.shake("server")

    def test_one_that_was_interrupted_begins_again(self, pki: Pki) -> None:
        (pki.path / "ca-next-key.pem").write_bytes((pki.path / "ca-key.pem").read_bytes())
        pki.done("issue", "server")
        pki.done("rotate-ca")
        pki.done("renew", "--all")
        pki.done("rotate-ca", "--finish")
        pki.shake("server")

    def test_what_makes_no_sense(self, pki: Pki) -> None:
        assert "--finish makes none" in pki.refused("rotate-ca", "--finish", "--days", "7")
        assert "0 days are not" in pki.refused("rotate-ca", "--days", "0")
