import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The writer of writers.py by Apache's client with its default settings: the same records at the same pace, and the same
 * rows for their acknowledgements.
 *
 * Arguments: servers, topic, partitions, records a second, count, the file of rows, the file that says when it is over.
 */
public final class Writer {
    private static final long TICK_NS = 20_000_000;
    private static final long FAILED = -1;

    private Writer() {
    }

    public static void main(String[] given) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", given[0]);
        String topic = given[1];
        int[] sent = new int[Integer.parseInt(given[2])];
        long perTick = Math.max(1, Math.round(Integer.parseInt(given[3]) * TICK_NS / 1e9));
        long count = Long.parseLong(given[4]);
        Path over = Path.of(given[6]);
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (DataOutputStream acks =
                 new DataOutputStream(new BufferedOutputStream(Files.newOutputStream(Path.of(given[5]))));
             KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            long turn = 0;
            long nextTick = System.nanoTime();
            while (turn < count || !Files.exists(over)) {
                for (long each = 0; each < perTick; each++) {
                    int partition = (int) (turn++ % sent.length);
                    send(producer, acks, topic, partition, sent[partition]++);
                }
                nextTick += TICK_NS;
                long left = nextTick - System.nanoTime();
                if (left > 0) {
                    Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
                }
            }
            producer.flush();
        }
        System.out.println(Arrays.toString(sent));
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, DataOutputStream acks, String topic, int partition,
                             int number) {
        // On Linux this is the clock of Python's time.monotonic().
        double sent = System.nanoTime() / 1e9;
        byte[] value = Integer.toString(number).getBytes();
        producer.send(new ProducerRecord<>(topic, partition, null, value), (metadata, error) -> {
            try {
                acks.writeInt(partition);
                acks.writeInt(number);
                acks.writeLong(error == null ? metadata.offset() : FAILED);
                acks.writeDouble(sent);
                acks.writeDouble(System.nanoTime() / 1e9);
            } catch (IOException full) {
                throw new IllegalStateException(full);
            }
        });
    }
}
