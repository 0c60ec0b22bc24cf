import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.pinot.segment.local.utils.TableConfigUtils;
import org.apache.pinot.spi.config.table.TableConfig;
import org.apache.pinot.spi.data.Schema;
import org.apache.pinot.spi.utils.JsonUtils;

/** Reads lines "schema TAB table config", and prints for each why Pinot refuses it, or an empty line. */
public class ValidateConfigs {
  public static void main(String[] arguments) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] parts = line.split("\t");
      String refusal = "";
      try {
        Schema schema = Schema.fromString(parts[0]);
        schema.validate();
        TableConfigUtils.validate(JsonUtils.stringToObject(parts[1], TableConfig.class), schema);
      } catch (Exception error) {
        refusal = error.toString().replace("\n", " ");
      }
      System.out.println("verdict: " + refusal);
    }
  }
}
