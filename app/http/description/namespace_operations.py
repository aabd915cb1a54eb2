"""What openapi.yaml says of namespaces."""

from acklog.wire.problems import ProblemCode
from app.http.description.operation import FROM_COORDINATION, WITH_BODY, WITH_TOKEN, Operation, json_of
from app.http.parsing.namespaces import NAMESPACES_QUERY

_P = ProblemCode

_OF_NAMESPACE = (*WITH_TOKEN, *FROM_COORDINATION, _P.INVALID_NAME)

NAMESPACE_OPERATIONS: dict[str, Operation] = {
    "listNamespaces": Operation(
        "Namespaces by name, those that the token may do something in",
        {200: ("A page of them", json_of("NamespaceListing"))},
        (_P.UNAUTHENTICATED,),
        query=NAMESPACES_QUERY,
    ),
    "putNamespace": Operation(
        "Make a namespace; one that is there with these settings is fine, and is never changed",
        {
            200: ("It is there as asked", json_of("NamespaceView")),
            201: ("It was made", json_of("NamespaceView")),
        },
        (*_OF_NAMESPACE, *WITH_BODY, _P.NAMESPACE_EXISTS, _P.TOO_MANY_NAMESPACES, _P.NODES_TOO_OLD),
        body=json_of("NamespaceFields"),
        is_body_required=False,
    ),
    "updateNamespace": Operation(
        "Change what is named of a namespace; less than there is takes nothing away",
        {200: ("It is as asked", json_of("NamespaceView"))},
        (*_OF_NAMESPACE, *WITH_BODY, _P.NAMESPACE_NOT_FOUND),
        body=json_of("NamespaceFields"),
        is_body_required=False,
    ),
    "describeNamespace": Operation(
        "A namespace, and how much there is in it",
        {200: ("The namespace", json_of("NamespaceView"))},
        (*WITH_TOKEN, _P.UNAVAILABLE, _P.INVALID_NAME, _P.NAMESPACE_NOT_FOUND),
    ),
    "deleteNamespace": Operation(
        "Delete a namespace in which there is nothing any more",
        {204: ("It is gone", {})},
        (*_OF_NAMESPACE, _P.NAMESPACE_NOT_FOUND, _P.NAMESPACE_NOT_EMPTY),
    ),
}
