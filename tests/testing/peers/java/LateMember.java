import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Apache's clients in the schedule of a late member: one reads and works for longer than max.poll.interval.ms, another
 * gets the partition and copies it, and only then the first one commits its copy with the metadata of that moment.
 *
 * Arguments: bootstrap servers, topic to read, topic to write, group, group protocol. Tells by JSON lines what the
 * metadata was before and after, and how the late commit ended.
 */
public final class LateMember {
    private static final Duration POLL = Duration.ofMillis(200);
    private static String[] arguments;

    public static void main(String[] given) {
        arguments = given;
        try (KafkaConsumer<byte[], byte[]> slow = consumer(3_000); KafkaConsumer<byte[], byte[]> quick = consumer(300_000);
                KafkaProducer<byte[], byte[]> late = producer("slow"); KafkaProducer<byte[], byte[]> timely = producer("quick")) {
            ConsumerRecords<byte[], byte[]> records = read(slow);
            tell("before", slow.groupMetadata(), "");
            late.beginTransaction();
            send(late, records);
            ConsumerRecords<byte[], byte[]> again = read(quick);
            timely.beginTransaction();
            send(timely, again);
            timely.sendOffsetsToTransaction(after(again), quick.groupMetadata());
            timely.commitTransaction();
            tell("late", slow.groupMetadata(), commit(late, records, slow.groupMetadata()));
        }
    }

    private static String commit(
            KafkaProducer<byte[], byte[]> late, ConsumerRecords<byte[], byte[]> records, ConsumerGroupMetadata metadata) {
        try {
            late.sendOffsetsToTransaction(after(records), metadata);
            late.commitTransaction();
            return "";
        } catch (RuntimeException error) {
            late.abortTransaction();
            return error.getClass().getSimpleName();
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(int interval) {
        Properties settings = settings();
        settings.put("group.id", arguments[3]);
        settings.put("group.protocol", arguments[4]);
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.interval.ms", interval);
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        KafkaConsumer<byte[], byte[]> made = new KafkaConsumer<>(settings);
        made.subscribe(List.of(arguments[1]));
        return made;
    }

    private static KafkaProducer<byte[], byte[]> producer(String name) {
        Properties settings = settings();
        settings.put("transactional.id", arguments[3] + "-" + name);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        KafkaProducer<byte[], byte[]> made = new KafkaProducer<>(settings);
        made.initTransactions();
        return made;
    }

    private static Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        return settings;
    }

    private static ConsumerRecords<byte[], byte[]> read(KafkaConsumer<byte[], byte[]> consumer) {
        while (true) {
            ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
            if (!records.isEmpty()) {
                return records;
            }
        }
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, ConsumerRecords<byte[], byte[]> records) {
        for (ConsumerRecord<byte[], byte[]> record : records) {
            producer.send(new ProducerRecord<>(arguments[2], record.value()));
        }
    }

    private static Map<TopicPartition, OffsetAndMetadata> after(ConsumerRecords<byte[], byte[]> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        return offsets;
    }

    private static void tell(String name, ConsumerGroupMetadata metadata, String error) {
        System.out.println("{\"name\":\"" + name + "\",\"generation\":" + metadata.generationId() + ",\"member\":\""
            + metadata.memberId() + "\",\"error\":\"" + error + "\"}");
    }
}
