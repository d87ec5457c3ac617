"""Makes the calls of PLANT_STORE_CALLS with the client of openapi-generator (python), and prints each answer as JSON."""

import inspect
import json
import os
import re

import openapi_client

client = openapi_client.ApiClient(
    openapi_client.Configuration(
        host=os.environ["PLANT_STORE_URL"], access_token=os.environ["PLANT_STORE_TOKEN"]
    )
)


def plain(answer: object) -> object:
    if isinstance(answer, list):
        return [plain(item) for item in answer]
    return answer.to_dict() if hasattr(answer, "to_dict") else answer


for call in json.loads(os.environ["PLANT_STORE_CALLS"]):
    api = getattr(openapi_client, call["tag"].title().replace("-", "") + "Api")(client)
    method = getattr(api, re.sub("([A-Z])", r"_\1", call["operation"]).lower())
    parameters = inspect.signature(method).parameters.values()
    required = [one.name for one in parameters if one.default is inspect.Parameter.empty]
    arguments = {"id": call["id"]} if "id" in call else {}
    if "body" in call:
        # Whoever imports may send no body.
        arguments[next((name for name in required if name != "id"), "body")] = call["body"]
    if call["answersLines"]:
        # The client reads JSON and plain text only.
        raw = getattr(api, method.__name__ + "_without_preload_content")
        print(json.dumps(raw(**arguments).read().decode()))
    else:
        print(json.dumps(plain(method(**arguments))))
