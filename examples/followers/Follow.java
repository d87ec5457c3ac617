import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Set;

public class Follow {
  private static String position;

  public static void main(String[] arguments) throws Exception {
    position = arguments[0];
    while (true) {
      try {
        follow();
      } catch (IOException e) {
        // The connection broke.
      }
      Thread.sleep(1_000);
    }
  }

  private static void follow() throws IOException {
    URI uri = URI.create(System.getenv("PLANT_STORE_URL") + "/changes?after=" + position);
    HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
    connection.setRequestProperty("Authorization", "Bearer " + System.getenv("PLANT_STORE_TOKEN"));
    connection.setRequestProperty("Accept", "text/event-stream");
    connection.setReadTimeout(45_000);
    int status = connection.getResponseCode();
    if (Set.of(429, 502, 503, 504).contains(status)) return;
    if (status != 200) throw new IllegalStateException("status " + status);
    String id = position;
    String change = "";
    try (var events = new BufferedReader(new InputStreamReader(connection.getInputStream(), StandardCharsets.UTF_8))) {
      for (String line = events.readLine(); line != null; line = events.readLine()) {
        if (line.startsWith("id:")) id = line.substring(3).trim();
        if (line.startsWith("data:")) change = line.substring(5).trim();
        if (line.isEmpty() && !change.isEmpty()) {
          System.out.println(change);
          position = id;
          change = "";
        }
      }
    }
  }
}
