package kwire.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Readable;

import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;

/**
 * Records of Kafka's own topics, key and value as they stand in the log, read by the class that its brokers read them with.
 * By reflection, because 3.x has those classes elsewhere.
 */
final class LogRecords {
    private LogRecords() {
    }

    /** "serde" names the class; the answer names the messages that it made, and the version of the value's. */
    static JsonNode read(JsonNode question) throws Exception {
        Object serde = Class.forName(question.get("serde").asText()).getConstructor().newInstance();
        ByteBuffer value = buffer(question.get("value"));
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        if (!question.hasNonNull("key")) {
            return value(answer, call(serde, "read", new Class<?>[] {Readable.class, int.class},
                new ByteBufferAccessor(value), value.remaining()));
        }
        Object read = call(serde, "deserialize", new Class<?>[] {ByteBuffer.class, ByteBuffer.class},
            buffer(question.get("key")), value);
        answer.put("key", call(read, "key", new Class<?>[0]).getClass().getSimpleName());
        return value == null ? answer : value(answer, call(read, "value", new Class<?>[0]));
    }

    private static ObjectNode value(ObjectNode answer, Object messageAndVersion) throws Exception {
        answer.put("value", call(messageAndVersion, "message", new Class<?>[0]).getClass().getSimpleName());
        return answer.put("version", (short) call(messageAndVersion, "version", new Class<?>[0]));
    }

    private static Object call(Object target, String method, Class<?>[] types, Object... arguments) throws Exception {
        try {
            return target.getClass().getMethod(method, types).invoke(target, arguments);
        } catch (InvocationTargetException thrown) {
            throw thrown.getCause() instanceof Exception ? (Exception) thrown.getCause() : thrown;
        }
    }

    private static ByteBuffer buffer(JsonNode base64) throws Exception {
        return base64 == null || base64.isNull() ? null : ByteBuffer.wrap(base64.binaryValue());
    }
}
