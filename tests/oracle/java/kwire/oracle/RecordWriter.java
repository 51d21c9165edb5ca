package kwire.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.LeaderChangeMessage.Voter;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Writes batches of every magic with the builders that Kafka's producer and broker use. */
final class RecordWriter {
    private static final int FIRST_CAPACITY = 1024;

    private RecordWriter() {
    }

    static JsonNode write(JsonNode batch) throws IOException {
        TimestampType timestampType = TimestampType.forName(batch.get("timestamp_type").asText());
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
            ByteBuffer.allocate(FIRST_CAPACITY),
            (byte) batch.get("magic").asInt(),
            Compression.of(batch.get("compression").asText()).build(),
            timestampType,
            batch.get("base_offset").asLong(),
            batch.get("log_append_time").asLong(),
            batch.get("producer_id").asLong(),
            (short) batch.get("producer_epoch").asInt(),
            batch.get("base_sequence").asInt(),
            batch.get("is_transactional").asBoolean(),
            false,
            batch.get("partition_leader_epoch").asInt(),
            FIRST_CAPACITY);
        for (JsonNode record : batch.get("records")) {
            append(builder, record);
        }
        if (batch.hasNonNull("last_offset")) {
            builder.overrideLastOffset(batch.get("last_offset").asLong());
        }
        return bytes(builder.build().buffer());
    }

    private static void append(MemoryRecordsBuilder builder, JsonNode record) throws IOException {
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : record.get("headers")) {
            headers.add(new RecordHeader(header.get(0).asText(), binary(header.get(1))));
        }
        builder.appendWithOffset(
            record.get("offset").asLong(),
            record.get("timestamp").asLong(),
            binary(record.get("key")),
            binary(record.get("value")),
            headers.toArray(new Header[0]));
    }

    static JsonNode endMarker(JsonNode marker) {
        ControlRecordType type = ControlRecordType.valueOf(marker.get("type").asText());
        MemoryRecords records = MemoryRecords.withEndTransactionMarker(
            marker.get("offset").asLong(),
            marker.get("timestamp").asLong(),
            marker.get("partition_leader_epoch").asInt(),
            marker.get("producer_id").asLong(),
            (short) marker.get("producer_epoch").asInt(),
            new EndTransactionMarker(type, marker.get("coordinator_epoch").asInt()));
        return bytes(records.buffer());
    }

    static JsonNode leaderChange(JsonNode change) {
        List<Voter> voters = new ArrayList<>();
        for (JsonNode voter : change.get("voters")) {
            voters.add(new Voter().setVoterId(voter.asInt()));
        }
        LeaderChangeMessage message = new LeaderChangeMessage()
            .setLeaderId(change.get("leader_id").asInt())
            .setVoters(voters)
            .setGrantingVoters(voters);
        MemoryRecords records = MemoryRecords.withLeaderChangeMessage(
            change.get("offset").asLong(),
            change.get("timestamp").asLong(),
            change.get("partition_leader_epoch").asInt(),
            ByteBuffer.allocate(FIRST_CAPACITY),
            message);
        return bytes(records.buffer());
    }

    /** What the log cleaner keeps of a batch whose records are all gone. */
    static JsonNode emptyBatch(JsonNode batch) {
        ByteBuffer buffer = ByteBuffer.allocate(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        DefaultRecordBatch.writeEmptyHeader(
            buffer,
            RecordBatch.CURRENT_MAGIC_VALUE,
            batch.get("producer_id").asLong(),
            (short) batch.get("producer_epoch").asInt(),
            batch.get("base_sequence").asInt(),
            batch.get("base_offset").asLong(),
            batch.get("last_offset").asLong(),
            batch.get("partition_leader_epoch").asInt(),
            TimestampType.CREATE_TIME,
            batch.get("timestamp").asLong(),
            batch.get("is_transactional").asBoolean(),
            batch.get("is_control").asBoolean());
        buffer.flip();
        return bytes(buffer);
    }

    private static byte[] binary(JsonNode node) throws IOException {
        return node.isNull() ? null : node.binaryValue();
    }

    private static ObjectNode bytes(ByteBuffer buffer) {
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return JsonNodeFactory.instance.objectNode().put("bytes", copy);
    }
}
