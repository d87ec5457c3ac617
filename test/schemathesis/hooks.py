"""Rules of the service that its OpenAPI document cannot express."""

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.generation.modes import GenerationMode
from schemathesis.openapi.checks import RejectedPositiveData

ID_TAKEN = 40009


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """
    A valid plant is refused if its id belongs to a plant with other content, as the interface publishes, and a valid
    change if the plant has none of the entity tags. Any text can be imported, because each line is checked by itself.
    """
    if isinstance(failure, AcceptedNegativeData):
        return case.operation.path != "/plants/import"
    if not isinstance(failure, RejectedPositiveData):
        return True
    is_taken = response.status_code == 400 and response.json()["error"] == ID_TAKEN
    return not is_taken and response.status_code != 412


@schemathesis.serializer("application/x-ndjson")
def serialize_ndjson(context, value):
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")


@schemathesis.hook
def before_call(context, case, kwargs):
    """
    JSON has many forms of an integer, such as 7.0, but a path has only one, so every plant has one path. A body that
    changes a plant has its id or none.
    """
    plant_id = (case.path_parameters or {}).get("id")
    if isinstance(plant_id, float) and plant_id.is_integer():
        plant_id = case.path_parameters["id"] = int(plant_id)
    is_valid = case.meta is not None and case.meta.generation.mode == GenerationMode.POSITIVE
    if is_valid and plant_id is not None and isinstance(case.body, dict) and "id" in case.body:
        case.body["id"] = plant_id
