package kwire.oracle;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;

/** Random values for a schema: mostly present and not the default, sometimes null, empty or an extreme. */
final class RandomValues {
    private static final String[] TEXTS = {"a", "topic-1", "Größe", "数据", "🙂", "x".repeat(130)};

    private final Random random;

    RandomValues(long seed) {
        random = new Random(seed);
    }

    Struct struct(Schema schema) throws ReflectiveOperationException {
        Struct struct = new Struct(schema);
        for (BoundField field : schema.fields()) {
            struct.set(field, value(field.def.type));
        }
        return struct;
    }

    private Object value(Type type) throws ReflectiveOperationException {
        if (type instanceof TaggedFields) {
            return tagged((TaggedFields) type);
        }
        if (type.isNullable() && oneIn(6)) {
            return null;
        }
        if (type instanceof Schema) {
            return struct((Schema) type);
        }
        if (type.isArray()) {
            return array(type.arrayElementType().get());
        }
        return scalar(type.toString());
    }

    /** By reflection, because 3.x has no accessor. */
    private NavigableMap<Integer, Object> tagged(TaggedFields type) throws ReflectiveOperationException {
        java.lang.reflect.Field fields = TaggedFields.class.getDeclaredField("fields");
        fields.setAccessible(true);
        NavigableMap<Integer, Object> values = new TreeMap<>();
        for (Map.Entry<?, ?> entry : ((Map<?, ?>) fields.get(type)).entrySet()) {
            if (!oneIn(4)) {
                values.put((Integer) entry.getKey(), value(((Field) entry.getValue()).type));
            }
        }
        return values;
    }

    private Object[] array(Type element) throws ReflectiveOperationException {
        Object[] items = new Object[random.nextInt(4)];
        for (int index = 0; index < items.length; index++) {
            items[index] = value(element);
        }
        return items;
    }

    private Object scalar(String name) {
        switch (name) {
            case "BOOLEAN":
                return random.nextBoolean();
            case "INT8":
                return (byte) integer(Byte.MIN_VALUE, Byte.MAX_VALUE);
            case "INT16":
                return (short) integer(Short.MIN_VALUE, Short.MAX_VALUE);
            case "UINT16":
                return (int) integer(0, 0xffff);
            case "INT32":
                return (int) integer(Integer.MIN_VALUE, Integer.MAX_VALUE);
            case "UINT32":
                return integer(0, 0xffffffffL);
            case "INT64":
                return integer(Long.MIN_VALUE, Long.MAX_VALUE);
            case "FLOAT64":
                return random.nextGaussian() * 1e6;
            case "UUID":
                return new Uuid(random.nextLong(), random.nextLong());
            case "STRING":
            case "COMPACT_STRING":
            case "NULLABLE_STRING":
            case "COMPACT_NULLABLE_STRING":
                return TEXTS[random.nextInt(TEXTS.length)];
            case "BYTES":
            case "COMPACT_BYTES":
            case "NULLABLE_BYTES":
            case "COMPACT_NULLABLE_BYTES":
                return ByteBuffer.wrap(bytes());
            case "RECORDS":
            case "COMPACT_RECORDS":
            case "NULLABLE_RECORDS":
            case "COMPACT_NULLABLE_RECORDS":
                return MemoryRecords.withRecords(Compression.NONE, new SimpleRecord(random.nextInt(1000), bytes(), bytes()));
            default:
                throw new IllegalArgumentException("no random value for the type " + name);
        }
    }

    private long integer(long least, long most) {
        switch (random.nextInt(6)) {
            case 0:
                return least;
            case 1:
                return most;
            case 2:
                return 1 + random.nextInt(100);
            default:
                return least + Long.remainderUnsigned(random.nextLong(), most - least == -1 ? -1L : most - least + 1);
        }
    }

    private byte[] bytes() {
        byte[] drawn = new byte[random.nextInt(200)];
        random.nextBytes(drawn);
        return drawn;
    }

    private boolean oneIn(int count) {
        return random.nextInt(count) == 0;
    }
}
