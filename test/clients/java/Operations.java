import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.JSON;

/**
 * Makes the calls of PLANT_STORE_CALLS with the client of openapi-generator (java), and prints each answer, or the status and
 * the Error of a refusal, as JSON.
 */
public class Operations {
  public static void main(String[] arguments) throws Exception {
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (JsonElement element : JsonParser.parseString(System.getenv("PLANT_STORE_CALLS")).getAsJsonArray()) {
      out.println(JSON.getGson().toJson(answer(element.getAsJsonObject())));
    }
  }

  private static Object answer(JsonObject call) throws Exception {
    ApiClient client = new ApiClient();
    client.setBasePath(System.getenv("PLANT_STORE_URL") + (call.has("below") ? call.get("below").getAsString() : ""));
    client.setBearerToken(call.has("token") ? call.get("token").getAsString() : System.getenv("PLANT_STORE_TOKEN"));
    StringBuilder name = new StringBuilder();
    for (String word : call.get("tag").getAsString().split("-")) {
      name.append(word.substring(0, 1).toUpperCase()).append(word.substring(1));
    }
    Class<?> type = Class.forName("org.openapitools.client.api." + name + "Api");
    Object api = type.getConstructor(ApiClient.class).newInstance(client);
    String operation = call.get("operation").getAsString();
    Method method = Arrays.stream(type.getMethods()).filter(one -> one.getName().equals(operation)).findFirst().get();
    Class<?>[] types = method.getParameterTypes();
    Object[] values = new Object[types.length];
    if (call.has("id")) values[0] = call.get("id").getAsLong();
    for (int at = 0; call.has("body") && at < types.length; at++) {
      boolean isModel = types[at].getName().startsWith("org.openapitools.client.model.");
      // The text of an import is optional, so it is the last parameter.
      boolean isText = call.get("body").isJsonPrimitive() && at == types.length - 1;
      if (isModel || isText) values[at] = JSON.getGson().fromJson(call.get("body"), types[at]);
    }
    try {
      return method.invoke(api, values);
    } catch (InvocationTargetException e) {
      ApiException refusal = (ApiException) e.getCause();
      var error = refusal.getErrorObject();
      return Map.of("status", refusal.getCode(), "error", error.getError(), "message", error.getMessage());
    }
  }
}
