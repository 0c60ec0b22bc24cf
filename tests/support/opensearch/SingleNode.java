import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/** A node of OpenSearch with no plugin but that of its network: {@code SingleNode HOME PORT TRANSPORT_PORT}. */
public class SingleNode extends Node {
  SingleNode(Settings settings) {
    super(
        InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "one"),
        List.of(Netty4Plugin.class),
        true);
  }

  public static void main(String[] arguments) throws Exception {
    Settings settings =
        Settings.builder()
            .put("path.home", arguments[0])
            .put("cluster.name", "tests")
            .put("node.name", "one")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", arguments[1])
            .put("transport.port", arguments[2])
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("cluster.max_shards_per_node", 10_000)
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
    new SingleNode(settings).start();
    Thread.sleep(Long.MAX_VALUE);
  }
}
