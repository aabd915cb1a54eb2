"""Which server a mirror copies from. (It copies to the one that every command asks.)"""

from acklog.command.server_files import NO_FILES, ServerFiles
from acklog.command.session import Server, Session, checked_url

TOKEN_VARIABLE = "ACKLOG_SOURCE_TOKEN"


def source_server(session: Session, where: str) -> Server:
    """`where` is a URL, or a profile's name. A profile's token and files for TLS are for its server; else the token is
    that of ACKLOG_SOURCE_TOKEN. The target's token is never sent there. Raises CommandError."""
    environment = session.surroundings.environment
    token = environment.get(TOKEN_VARIABLE) or None
    files = ServerFiles.of_environment(environment)
    if "://" in where:
        url = checked_url(where, "--source")
        return Server(url, token, "--source", files=files if url.startswith("https:") else NO_FILES)
    profile = session.profiles.get(where)
    url = checked_url(profile.server, f"profile {where!r}")
    own = session.profiles.token(where) or token
    return Server(
        url, own, "--source", where, files=profile.files.over(files) if url.startswith("https:") else NO_FILES
    )
