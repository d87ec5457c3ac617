"""Makes the calls that clients.test.ts expects, with the client of openapi-generator (python)."""

import os

from openapi_client import ApiClient, ApiException, Configuration, NewPlant, PlantsApi
from pydantic import ValidationError

URL = os.environ["PLANT_STORE_URL"]
TOKEN = os.environ["PLANT_STORE_TOKEN"]


def store_at(url: str, token: str) -> PlantsApi:
    return PlantsApi(ApiClient(Configuration(host=url, access_token=token)))


def create(store: PlantsApi, id: int, name: str, tag: str | None = None) -> None:
    try:
        plant = store.create_plant(NewPlant(id=id, name=name, tag=tag))
        print(f"created {plant.name}, {plant.tag or 'null'}")
    except ApiException as e:
        refused(e)
    except ValidationError as e:
        print(f"not sent: {e.errors()[0]['loc']}")


def get(store: PlantsApi, id: int) -> None:
    try:
        plant = store.get_plant(id)
        print(f"stored {plant.id} {plant.name}, {plant.tag or 'null'}")
    except ApiException as e:
        refused(e)


def refused(e: ApiException) -> None:
    print(f"refused {e.status} {e.data.error} {e.data.message}")


store = store_at(URL, TOKEN)
create(store, 9007199254740993, "Se\u0301nec\u0327on \U0001f335")
get(store, 9007199254740993)
create(store, -(2**63), "Ficus", "indoor")
get(store, -(2**63))
create(store, 2**63 - 1, "Aloe", "desert")
get(store, 2**63 - 1)

create(store, 9007199254740993, "Monstera")
create(store, 1, "\0")
create(store_at(URL, "not-a-token"), 1, "Monstera")
get(store, 404)
create(store_at(URL + "/nowhere", TOKEN), 1, "Monstera")
