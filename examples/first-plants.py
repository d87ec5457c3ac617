import os

from openapi_client import ApiClient, ApiException, Configuration, NewPlant, PlantsApi

url, token = os.environ["PLANT_STORE_URL"], os.environ["PLANT_STORE_TOKEN"]
store = PlantsApi(ApiClient(Configuration(host=url, access_token=token)))

store.create_plant(NewPlant(id=9007199254740993, name="Monstera", tag="office"))
print(store.get_plant(9007199254740993).name)
query = {"tag": "office"}
while True:
    page = store.list_plants_with_http_info(**query)
    for plant in page.data:
        print(plant.id, plant.name)
    if "Link" not in page.headers:
        break
    query["after"] = page.data[-1].id
try:
    store.create_plant(NewPlant(id=9007199254740993, name="Ficus"))
except ApiException as e:
    if e.data is None or e.data.error != 40009:
        raise
    print(e.data.message)
