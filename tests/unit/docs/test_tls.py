"""What the page about TLS shows is so: its commands in their order, its files, its URIs."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from app.pki.certificate_file import read_certificate
from app.pki.certificate_subject import CertificateKind, CertificateSubject
from tests.support.command_run import run_command
from tests.unit.docs.documents import read_document, section, table

PAGE = read_document("tls.md")
_BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_its_commands_can_be_pasted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for block in _BLOCKS for line in block.splitlines() if line.startswith("acklog pki ")]
    assert len(lines) >= 12
    for line in lines:
        ran = run_command(*shlex.split(line)[1:])
        assert ran.exit_code == 0, (line, ran.stderr)
    named = re.findall(r"`([\w.-]+\.pem)`", section(PAGE, "Files"))
    assert len(named) > 4
    for name in named:
        assert (tmp_path / "pki" / name).exists()
    for name in re.findall(r"pki/([\w.-]+\.pem)", PAGE):
        assert (tmp_path / "pki" / name).exists(), name
    for _, uri, _ in table(section(PAGE, "What a certificate says")):
        holders = [*(tmp_path / "pki").glob("*.pem"), *(tmp_path / "shop").glob("*.pem")]
        certificates = [read_certificate(path.read_bytes()) for path in holders if "-key" not in path.name]
        assert any(uri.strip("`") in each.identities for each in certificates), uri


def test_cert_manager_is_told_the_uri_that_servers_go_by() -> None:
    [text] = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    spec = yaml.safe_load(text)["spec"]
    node = CertificateSubject(CertificateKind.NODE, "1")
    assert spec["uris"] == [node.uri]
    assert {"server auth", "client auth"} <= set(spec["usages"])
    assert (spec["privateKey"]["algorithm"], spec["privateKey"]["size"]) == ("ECDSA", 256)
