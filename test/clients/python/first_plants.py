import os

from openapi_client import ApiClient, ApiException, Configuration, NewPlant, PlantsApi

url, token = os.environ["PLANT_STORE_URL"], os.environ["PLANT_STORE_TOKEN"]
store = PlantsApi(ApiClient(Configuration(host=url, access_token=token)))

store.create_plant(NewPlant(id=9007199254740993, name="Monstera", tag="office"))
print(store.get_plant(9007199254740993).name)
for plant in store.list_plants(tag="office"):
    print(plant.id, plant.name)
try:
    store.create_plant(NewPlant(id=9007199254740993, name="Ficus"))
except ApiException as e:
    if e.data is None or e.data.error != 40009:
        raise
    print(e.data.message)
