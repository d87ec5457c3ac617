"""Rules of the service that its OpenAPI document cannot express."""

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.generation.modes import GenerationMode
from schemathesis.openapi.checks import RejectedPositiveData

NDJSON = "application/x-ndjson"


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """
    A valid request is refused if it conflicts with what is stored: 409, and 412 if the resource has none of the entity
    tags. Any text can be imported, because each line is checked by itself.
    """
    if isinstance(failure, AcceptedNegativeData):
        return case.media_type != NDJSON
    if not isinstance(failure, RejectedPositiveData):
        return True
    return response.status_code not in (409, 412) and not is_taken(case, response)


def is_taken(case, response):
    """The published createPlant answers 400 if an id is taken. The document has the number of this failure."""
    refusal = case.operation.definition.raw["responses"].get("400", {})
    examples = refusal.get("content", {}).get("application/json", {}).get("examples", {})
    taken = examples.get("id-taken", {}).get("value", {}).get("error")
    return response.status_code == 400 and response.json()["error"] == taken


@schemathesis.serializer(NDJSON)
def serialize_ndjson(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(context, case, kwargs):
    """
    JSON has many forms of an integer, such as 7.0, but a path has only one, so everything has one path. A body that
    changes something has the id of the path or none.
    """
    id = (case.path_parameters or {}).get("id")
    if isinstance(id, float) and id.is_integer():
        id = case.path_parameters["id"] = int(id)
    is_valid = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if is_valid and id is not None and isinstance(case.body, dict) and "id" in case.body:
        case.body["id"] = id
