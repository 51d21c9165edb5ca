package kwire.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

import java.nio.ByteBuffer;

/** Reads every batch and record as Kafka's consumer does with check.crcs on, and shows all fields. */
final class RecordReader {
    private RecordReader() {
    }

    static JsonNode read(byte[] bytes) {
        MemoryRecords records = MemoryRecords.readableRecords(ByteBuffer.wrap(bytes));
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        ArrayNode batches = answer.putArray("batches");
        int consumed = 0;
        for (RecordBatch batch : records.batches()) {
            batch.ensureValid();
            batches.add(show(batch));
            consumed += batch.sizeInBytes();
        }
        return answer.put("consumed", consumed);
    }

    private static ObjectNode show(RecordBatch batch) {
        ObjectNode shown = JsonNodeFactory.instance.objectNode()
            .put("base_offset", batch.baseOffset())
            .put("last_offset", batch.lastOffset())
            .put("magic", batch.magic())
            .put("compression", batch.compressionType().name)
            .put("timestamp_type", batch.timestampType().id)
            .put("max_timestamp", batch.maxTimestamp())
            .put("is_transactional", batch.isTransactional())
            .put("is_control", batch.isControlBatch())
            .put("producer_id", batch.producerId())
            .put("producer_epoch", batch.producerEpoch())
            .put("base_sequence", batch.baseSequence())
            .put("partition_leader_epoch", batch.partitionLeaderEpoch());
        showRecords(batch, shown.putArray("records"));
        return shown;
    }

    /** `var`, because java.lang has a Record too and the other's package differs between releases. */
    private static void showRecords(RecordBatch batch, ArrayNode records) {
        for (var record : batch) {
            record.ensureValid();
            ObjectNode shown = records.addObject()
                .put("offset", record.offset())
                .put("timestamp", record.timestamp())
                .put("key", array(record.key()))
                .put("value", array(record.value()));
            ArrayNode headers = shown.putArray("headers");
            for (Header header : record.headers()) {
                headers.addArray().add(header.key()).add(header.value());
            }
        }
    }

    private static byte[] array(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return copy;
    }
}
