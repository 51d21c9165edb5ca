import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Apache's clients: a producer and a consumer, which push their metrics unless told not to, and an Admin, which does so
 * when told. Each works a little.
 *
 * Arguments: bootstrap servers, topic. Client ids: java-producer, java-consumer, java-admin.
 */
public final class JavaClients {
    public static void main(String[] given) throws Exception {
        String servers = given[0];
        String topic = given[1];
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
                Map.of("bootstrap.servers", servers, "client.id", "java-producer"),
                new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.send(new ProducerRecord<>(topic, new byte[10])).get();
            producer.clientInstanceId(Duration.ofSeconds(30));
            Thread.sleep(1000);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", servers, "client.id", "java-consumer", "group.id", "java",
                    "auto.offset.reset", "earliest"),
                new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (consumer.poll(Duration.ofSeconds(1)).isEmpty()) {
            }
            consumer.commitSync();
            consumer.clientInstanceId(Duration.ofSeconds(30));
            for (int i = 0; i < 10; i++) {
                consumer.poll(Duration.ofMillis(100));
            }
        }
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers, "client.id", "java-admin", "enable.metrics.push", "true"))) {
            admin.listTopics().names().get();
            admin.clientInstanceId(Duration.ofSeconds(30));
            Thread.sleep(1000);
        }
    }
}
