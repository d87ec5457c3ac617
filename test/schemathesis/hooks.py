"""Rules of the service that its OpenAPI document cannot express."""

import itertools
import os

import requests
import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.generation.modes import GenerationMode
from schemathesis.openapi.checks import RejectedPositiveData

NDJSON = "application/x-ndjson"
NEW_IDS = itertools.count(5_000_000)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """
    A valid request is refused if it conflicts with what is stored: 409, 410 if a position is of another server, 412 if the resource has none
    of the entity tags, and 422 if its idempotency key belongs to another request. The published createPlant answers 400 if an id is taken, and a position must be one that was given. Any text can be
    imported, because each line is checked by itself. An empty Last-Event-ID is none (WHATWG HTML, section 9.2.4).
    """
    if isinstance(failure, AcceptedNegativeData):
        return case.media_type != NDJSON and (case.headers or {}).get("Last-Event-ID") not in ("", {})
    if not isinstance(failure, RejectedPositiveData):
        return True
    return response.status_code not in (409, 410, 412, 422) and not depends_on_store(case, response)


def depends_on_store(case, response):
    """Whether what is stored makes the request a bad one. The document has the numbers of these failures."""
    refusal = case.operation.definition.raw["responses"].get("400", {})
    examples = refusal.get("content", {}).get("application/json", {}).get("examples", {})
    names = ("id-taken", "position-unknown")
    numbers = [examples[name]["value"]["error"] for name in names if name in examples]
    return response.status_code == 400 and response.json()["error"] in numbers


@schemathesis.serializer(NDJSON)
def serialize_ndjson(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(context, case, kwargs):
    """
    JSON has many forms of an integer, such as 7.0, but a path has only one, so everything has one path. A body that
    changes something has the id of the path or none. Schemathesis takes X-Request-Id for the id of a resource, and
    fails if a header field is a number.
    """
    if case.headers is not None and "X-Request-Id" in case.headers:
        case.headers["X-Request-Id"] = str(case.headers["X-Request-Id"])
    id = (case.path_parameters or {}).get("id")
    if isinstance(id, float) and id.is_integer():
        id = case.path_parameters["id"] = int(id)
    is_valid = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if is_valid and id is not None and isinstance(case.body, dict) and "id" in case.body:
        case.body["id"] = id
    if is_valid and case.query is not None:
        make_consistent(case.query)
    if is_valid and case.operation.path == "/gardens/{id}/plant":
        case.path_parameters["id"] = garden_with_plant(case.operation.base_url)


def make_consistent(query):
    """
    A page in the order of a column begins after an id and its value, which is JSON, or at the beginning, and has no list of ids. With a
    list of ids, a small limit makes the link too long.
    """
    is_by_id = query.get("sort", "id") in ("id", "-id")
    others = ("afterValue",) if is_by_id else ("after", "afterValue", "ids")
    for name in others if "ids" not in query else (*others, "limit"):
        query.pop(name, None)


def garden_with_plant(url):
    """A garden of the example that no other request changes; what is generated refers to plants that do not exist."""
    id = next(NEW_IDS)
    headers = {"Authorization": f"Bearer {os.environ['PLANT_STORE_TOKEN']}"}
    for path, body in (
        ("/plants", {"id": id, "name": "Fig"}),
        ("/gardens", {"id": id, "name": "Court", "plantId": id}),
    ):
        requests.post(url + path, json=body, headers=headers, timeout=60).raise_for_status()
    return id
