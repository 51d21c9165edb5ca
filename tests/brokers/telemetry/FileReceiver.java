import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.metrics.KafkaMetric;
import org.apache.kafka.common.metrics.MetricsReporter;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.telemetry.ClientTelemetry;
import org.apache.kafka.server.telemetry.ClientTelemetryPayload;
import org.apache.kafka.server.telemetry.ClientTelemetryReceiver;

/**
 * A plugin of a broker that takes its clients' metrics (KIP-714): writes each push to a file of its own, in the folder
 * of the system property kwire.telemetry, named NUMBER,INSTANCE,TERMINATING,TYPE,CLIENT.
 */
public final class FileReceiver implements MetricsReporter, ClientTelemetry, ClientTelemetryReceiver {
    private final Path folder = Path.of(System.getProperty("kwire.telemetry"));
    private final AtomicLong count = new AtomicLong();

    @Override
    public ClientTelemetryReceiver clientReceiver() {
        return this;
    }

    @Override
    public void exportMetrics(AuthorizableRequestContext context, ClientTelemetryPayload payload) {
        ByteBuffer data = payload.data();
        byte[] bytes = new byte[data.remaining()];
        data.get(bytes);
        String name = String.format("%06d,%s,%s,%s,%s", count.incrementAndGet(), payload.clientInstanceId(),
            payload.isTerminating(), payload.contentType(), context.clientId());
        try {
            Path partial = Files.write(folder.resolve("." + name), bytes);
            Files.move(partial, folder.resolve(name), StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    @Override
    public void init(List<KafkaMetric> metrics) {
    }

    @Override
    public void metricChange(KafkaMetric metric) {
    }

    @Override
    public void metricRemoval(KafkaMetric metric) {
    }

    @Override
    public void configure(Map<String, ?> configs) {
    }

    @Override
    public void close() {
    }
}
