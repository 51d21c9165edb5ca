package kwire.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;

import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Messages by name: bytes to and from the JSON of Kafka's generated converters. A short name ("MetadataRequest") is one of
 * the protocol, a full one ("org.apache.kafka.common.metadata.TopicRecord") any generated class.
 */
final class Messages {
    private static final String PACKAGE = "org.apache.kafka.common.message.";

    private Messages() {
    }

    static JsonNode versions(JsonNode question) throws ReflectiveOperationException {
        Message message = empty(name(question));
        return JsonNodeFactory.instance.objectNode()
            .put("lowest", message.lowestSupportedVersion())
            .put("highest", message.highestSupportedVersion());
    }

    static JsonNode headerVersions(JsonNode question) {
        ApiMessageType type = ApiMessageType.fromApiKey((short) question.get("api_key").asInt());
        return JsonNodeFactory.instance.objectNode()
            .put("request", type.requestHeaderVersion(version(question)))
            .put("response", type.responseHeaderVersion(version(question)));
    }

    static JsonNode toJson(JsonNode question) throws ReflectiveOperationException, IOException {
        ByteBuffer buffer = ByteBuffer.wrap(question.get("bytes").binaryValue());
        Message message = parse(name(question), version(question), buffer);
        return shown(name(question), version(question), message).put("left_over", buffer.remaining());
    }

    static JsonNode toBytes(JsonNode question) throws ReflectiveOperationException {
        Message message = (Message) converter(name(question))
            .getMethod("read", JsonNode.class, short.class)
            .invoke(null, question.get("json"), version(question));
        return JsonNodeFactory.instance.objectNode().put("bytes", serialized(message, version(question)));
    }

    /** A message with random values in all fields of the version: drawn from its schema, so bytes and JSON are Kafka's own. */
    static JsonNode random(JsonNode question) throws ReflectiveOperationException {
        Schema[] schemas = (Schema[]) data(name(question)).getField("SCHEMAS").get(null);
        Struct struct = new RandomValues(question.get("seed").asLong()).struct(schemas[version(question)]);
        ByteBuffer buffer = ByteBuffer.allocate(struct.sizeOf());
        struct.writeTo(buffer);
        buffer.flip();
        Message message = parse(name(question), version(question), buffer);
        return shown(name(question), version(question), message).put("bytes", serialized(message, version(question)));
    }

    private static ObjectNode shown(String name, short version, Message message) throws ReflectiveOperationException {
        JsonNode json = (JsonNode) converter(name)
            .getMethod("write", data(name), short.class, boolean.class)
            .invoke(null, message, version, true);
        ObjectNode answer = JsonNodeFactory.instance.objectNode();
        answer.set("json", json);
        return answer;
    }

    private static Message parse(String name, short version, ByteBuffer buffer) throws ReflectiveOperationException {
        Message message = empty(name);
        message.read(new ByteBufferAccessor(buffer), version);
        return message;
    }

    private static byte[] serialized(Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBufferAccessor accessor = new ByteBufferAccessor(ByteBuffer.allocate(message.size(cache, version)));
        message.write(accessor, cache, version);
        return accessor.buffer().array();
    }

    private static Message empty(String name) throws ReflectiveOperationException {
        return (Message) data(name).getConstructor().newInstance();
    }

    private static Class<?> data(String name) throws ClassNotFoundException {
        return Class.forName(name.indexOf('.') < 0 ? PACKAGE + name + "Data" : name);
    }

    private static Class<?> converter(String name) throws ClassNotFoundException {
        return Class.forName(data(name).getName() + "JsonConverter");
    }

    private static String name(JsonNode question) {
        return question.get("message").asText();
    }

    private static short version(JsonNode question) {
        return (short) question.get("version").asInt();
    }
}
