import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.PlantsApi;
import org.openapitools.client.model.NewPlant;
import org.openapitools.client.model.Plant;
import org.openapitools.client.model.StoredPlant;

/** Makes the calls that clients.test.ts expects, with the client of openapi-generator (java). */
public class Calls {
  private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static final String URL = System.getenv("PLANT_STORE_URL");
  private static final String TOKEN = System.getenv("PLANT_STORE_TOKEN");

  public static void main(String[] arguments) {
    PlantsApi store = storeAt(URL, TOKEN);
    create(store, 9007199254740993L, "Se\u0301nec\u0327on \uD83C\uDF35", null);
    get(store, 9007199254740993L);
    create(store, Long.MIN_VALUE, "Ficus", "indoor");
    get(store, Long.MIN_VALUE);
    create(store, Long.MAX_VALUE, "Aloe", "desert");
    get(store, Long.MAX_VALUE);

    create(store, 9007199254740993L, "Monstera", null);
    create(store, 1L, "\0", null);
    create(storeAt(URL, "not-a-token"), 1L, "Monstera", null);
    get(store, 404L);
    create(storeAt(URL + "/nowhere", TOKEN), 1L, "Monstera", null);
  }

  private static PlantsApi storeAt(String url, String token) {
    ApiClient client = new ApiClient();
    client.setBasePath(url);
    client.setBearerToken(token);
    return new PlantsApi(client);
  }

  private static void create(PlantsApi store, Long id, String name, String tag) {
    try {
      Plant plant = store.createPlant(new NewPlant().id(id).name(name).tag(tag), null);
      OUT.println("created " + plant.getName() + ", " + plant.getTag());
    } catch (ApiException e) {
      refused(e);
    }
  }

  private static void get(PlantsApi store, Long id) {
    try {
      StoredPlant plant = store.getPlant(id, null, null);
      OUT.println("stored " + plant.getId() + " " + plant.getName() + ", " + plant.getTag());
    } catch (ApiException e) {
      refused(e);
    }
  }

  private static void refused(ApiException e) {
    var error = e.getErrorObject();
    OUT.println("refused " + e.getCode() + " " + error.getError() + " " + error.getMessage());
  }
}
