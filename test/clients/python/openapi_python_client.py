"""Makes the calls that clients.test.ts expects, with the client of openapi-python-client."""

import os

from plant_store_client import AuthenticatedClient
from plant_store_client.api.plants import create_plant, get_plant
from plant_store_client.models import Error, NewPlant, Plant, StoredPlant
from plant_store_client.types import UNSET, Response, Unset

URL = os.environ["PLANT_STORE_URL"]
TOKEN = os.environ["PLANT_STORE_TOKEN"]


def create(
    store: AuthenticatedClient, id: int, name: str, tag: str | Unset = UNSET
) -> None:
    plant = NewPlant(id=id, name=name, tag=tag)
    answer = create_plant.sync_detailed(client=store, body=plant)
    if isinstance(answer.parsed, Plant):
        print(f"created {answer.parsed.name}, {answer.parsed.tag or 'null'}")
    else:
        refused(answer)


def get(store: AuthenticatedClient, id: int) -> None:
    answer = get_plant.sync_detailed(id, client=store)
    if isinstance(answer.parsed, StoredPlant):
        plant = answer.parsed
        print(f"stored {plant.id} {plant.name}, {plant.tag or 'null'}")
    else:
        refused(answer)


def refused(answer: Response) -> None:
    assert isinstance(answer.parsed, Error)
    print(f"refused {answer.status_code} {answer.parsed.error} {answer.parsed.message}")


store = AuthenticatedClient(URL, TOKEN)
create(store, 9007199254740993, "Se\u0301nec\u0327on \U0001f335")
get(store, 9007199254740993)
create(store, -(2**63), "Ficus", "indoor")
get(store, -(2**63))
create(store, 2**63 - 1, "Aloe", "desert")
get(store, 2**63 - 1)

create(store, 9007199254740993, "Monstera")
create(store, 1, "\0")
create(AuthenticatedClient(URL, "not-a-token"), 1, "Monstera")
get(store, 404)
create(AuthenticatedClient(URL + "/nowhere", TOKEN), 1, "Monstera")
