"""Makes the calls of PLANT_STORE_CALLS with the client of openapi-generator (python), and prints each answer, or the status and
the Error of a refusal, as JSON."""

import inspect
import json
import os
import re

import openapi_client
from pydantic import ValidationError

URL = os.environ["PLANT_STORE_URL"]
TOKEN = os.environ["PLANT_STORE_TOKEN"]


def client_for(call: dict) -> openapi_client.ApiClient:
    host, token = URL + call.get("below", ""), call.get("token", TOKEN)
    return openapi_client.ApiClient(
        openapi_client.Configuration(host=host, access_token=token)
    )


def plain(answer: object) -> object:
    if isinstance(answer, list):
        return [plain(item) for item in answer]
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


for call in json.loads(os.environ["PLANT_STORE_CALLS"]):
    api = getattr(openapi_client, call["tag"].title().replace("-", "") + "Api")(client_for(call))
    method = getattr(api, re.sub("([A-Z])", r"_\1", call["operation"]).lower())
    parameters = inspect.signature(method).parameters.values()
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    arguments = {"id": call["id"]} if "id" in call else {}
    if "body" in call:
        # Whoever imports may send no body.
        arguments[next((name for name in required if name != "id"), "body")] = call["body"]
    if call.get("answersLines"):
        # The client reads JSON and plain text only.
        raw = getattr(api, method.__name__ + "_without_preload_content")
        print(json.dumps(raw(**arguments).read().decode()))
    else:
        try:
            answer = plain(method(**arguments))
        except openapi_client.ApiException as e:
            answer = {"status": e.status, "error": e.data.error, "message": e.data.message}
        except ValidationError as e:
            answer = {"notSent": e.errors()[0]["loc"][-1]}
        print(json.dumps(answer))
