"""Two rules of the service that its OpenAPI document cannot express."""

import schemathesis
from schemathesis.openapi.checks import RejectedPositiveData

ID_TAKEN = 40009


@schemathesis.hook
def filter_failure(context, failure, case, response):
    """A valid plant is refused if its id belongs to a plant with other content, as the interface publishes."""
    is_taken = response.status_code == 400 and response.json()["error"] == ID_TAKEN
    return not (is_taken and isinstance(failure, RejectedPositiveData))


@schemathesis.hook
def before_call(context, case, kwargs):
    """JSON has many forms of an integer, such as 7.0, but a path has only one, so every plant has one path."""
    plant_id = (case.path_parameters or {}).get("id")
    if isinstance(plant_id, float) and plant_id.is_integer():
        case.path_parameters["id"] = int(plant_id)
