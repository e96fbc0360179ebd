import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.opensearch.cluster.service.ClusterService;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.http.HttpServerTransport;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.plugins.Plugin;

/**
 * One OpenSearch node with k-NN on a free port of 127.0.0.1, for tests.
 *
 * <p>Argument: an empty folder for its data. Prints {@code port <number>} when it listens, and ends when its standard
 * input ends: the pipe closes with the process that holds it, however that process dies.
 */
public final class OpenSearchNode extends Node {
    private static final List<String> PLUGINS = List.of(
        "org.opensearch.transport.Netty4Plugin",
        "org.opensearch.analysis.common.CommonAnalysisPlugin",
        "org.opensearch.painless.PainlessPlugin",
        "org.opensearch.index.reindex.ReindexPlugin",
        "org.opensearch.knn.plugin.KNNPlugin");

    private OpenSearchNode(Environment environment, List<Class<? extends Plugin>> plugins) {
        super(environment, plugins, true);
    }

    /** The distribution names the node in its log here; there is no log to name it in. */
    @Override
    protected void configureNodeAndClusterIdStateListener(ClusterService clusterService) {}

    public static void main(String[] arguments) throws Exception {
        Path home = Path.of(arguments[0]).toAbsolutePath();
        Path config = Files.createDirectories(home.resolve("config"));
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings(home), Map.of(), config, () -> "test");
        Node node = new OpenSearchNode(environment, plugins());
        node.start();
        HttpServerTransport http = node.injector().getInstance(HttpServerTransport.class);
        System.out.println("port " + http.boundAddress().publishAddress().getPort());
        while (System.in.read() >= 0) {}
        Runtime.getRuntime().halt(0); // nothing of it is kept, so nothing needs closing
    }

    private static Settings settings(Path home) {
        return Settings.builder()
            .put("path.home", home)
            .put("cluster.name", "agent-memory-tests")
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", "0")
            .put("transport.port", "0")
            .put("transport.type", "netty4")
            .put("http.type", "netty4")
            .put("cluster.routing.allocation.disk.threshold_enabled", false) // a full disk must not fail a test
            .build();
    }

    private static List<Class<? extends Plugin>> plugins() throws ClassNotFoundException {
        List<Class<? extends Plugin>> classes = new ArrayList<>();
        for (String name : PLUGINS) {
            classes.add(Class.forName(name).asSubclass(Plugin.class));
        }
        return classes;
    }
}
