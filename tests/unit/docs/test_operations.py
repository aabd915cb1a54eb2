"""What docs/operations.md and docs/errors.md tell operators and clients is so."""

import re

import msgspec

from acklog.client.tls_files import CA_FILE_VARIABLE, CERTIFICATE_FILE_VARIABLE, KEY_FILE_VARIABLE
from acklog.command.build import COMMIT_VARIABLE
from acklog.command.mirror_ends import TOKEN_VARIABLE as SOURCE_TOKEN_VARIABLE
from acklog.command.session import VARIABLES
from acklog.wire.problems import ProblemCode
from app.auth.scopes import Scope
from app.auth.tokens import parse_token_table
from app.commands.cluster_up import ETCD_VARIABLE
from app.configuration.etcd_options import EtcdOptions
from app.configuration.jwt_options import JwtOptions
from app.configuration.node_options import NodeOptions
from app.configuration.node_settings import node_variables
from app.configuration.server_settings import ENVIRONMENT_PREFIX, Settings
from app.configuration.setting_fields import CONFIGURATION_VARIABLE
from app.configuration.tls_options import PeerOptions, TlsOptions
from app.configuration.trace_options import TraceOptions
from app.configuration.worker_options import WorkerOptions
from app.http.exchange.problems import problem_document
from cluster.errors import ServerError
from tests.architecture.source_tree import product_modules, text_files
from tests.unit.docs.documents import read_document, section, table

_WATCHING = "Watching it"


def test_events_are_logged_under_these_names() -> None:
    source = "\n".join(module.source for module in product_modules())
    events = [
        event
        for row in table(section(read_document("operations.md"), _WATCHING))
        for event in re.findall(r"`([a-z_]+)`", row[0])
    ]
    assert len(events) > 8
    assert [event for event in events if f'"{event}"' not in source] == []


def test_metrics_have_these_names() -> None:
    source = "\n".join(module.source for module in product_modules())
    named = set(re.findall(r"`(acklog_[a-z_]+)`", section(read_document("operations.md"), _WATCHING)))
    assert named
    unknown = []
    for name in sorted(named):
        stem = name.removesuffix("_total")
        group_part = stem.removeprefix("acklog_group_")
        if f'"{stem}"' not in source and f'"{group_part}"' not in source:
            unknown.append(name)
    assert unknown == []


def test_the_tokens_file_of_the_page_is_one() -> None:
    match = re.search(
        r"^```toml\n(.*?)^```", section(read_document("operations.md"), "Tokens"), re.MULTILINE | re.DOTALL
    )
    assert match is not None
    content = match[1].replace("<64 hex digits>", "ab" * 32).encode()
    assert len(parse_token_table(content, toml=True)) == 2
    for scope in Scope:
        assert f"{scope.value}:" in match[1]


def test_variables_that_documents_name_are_settings() -> None:
    kinds = (Settings, NodeOptions, EtcdOptions, TraceOptions, TlsOptions, PeerOptions, JwtOptions, WorkerOptions)
    fields = [name for kind in kinds for name in kind.__dataclass_fields__]
    known = {
        *VARIABLES,
        *(CA_FILE_VARIABLE, CERTIFICATE_FILE_VARIABLE, KEY_FILE_VARIABLE),
        SOURCE_TOKEN_VARIABLE,
        COMMIT_VARIABLE,
        ETCD_VARIABLE,
        CONFIGURATION_VARIABLE,
        *(ENVIRONMENT_PREFIX + name.upper() for name in fields),
    }
    known |= set(node_variables())
    named = {
        variable
        for path, content in text_files()
        if path.endswith(".md")
        for variable in re.findall(r"\bACKLOG_[A-Z_]+[A-Z]", content)
    }
    foreign = {"ACKLOG_SERVICE_HOST"}  # an example of what others set
    assert sorted(named - known - foreign - {"ACKLOG_PID"}) == []


def test_the_example_of_a_problem_is_one() -> None:
    [example] = re.findall(r"^```json\n(.*?)^```", read_document("errors.md"), re.MULTILINE | re.DOTALL)
    document = msgspec.json.decode(example)
    error = ServerError(
        ProblemCode[document["code"]], document["detail"], field=document["field"], extra={"near": document["near"]}
    )
    assert problem_document(error) == document
