import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.function.Function;

import org.apache.kafka.common.protocol.Protocol;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.Field;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.Struct;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Reads and writes bodies with the schema tables that Kafka's clients had from 0.8.2 to 0.10.2.
 *
 * With the argument "layouts" it prints every schema: direction, key, version and the layout as JSON, with tabs between;
 * a structure is an object of its fields in their order, an array {"[]": element} or {"[]?": element}. With "bodies" it
 * reads lines of direction, key, version and a body in hexadecimal, and prints for each the values as JSON (text as
 * "s" and bytes as "b" before their hexadecimal form), a tab, and the body as it writes it from those values; or
 * "refused", a tab, and what was thrown.
 *
 * Run from its source, with nothing but the release's jars: old releases have no JSON library.
 */
public final class Schemas {
    private static final HexFormat HEX = HexFormat.of();

    private Schemas() {
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        if (arguments[0].equals("layouts")) {
            printLayouts(answers, "request", Protocol.REQUESTS);
            printLayouts(answers, "response", Protocol.RESPONSES);
        } else {
            BufferedReader bodies = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String line = bodies.readLine(); line != null; line = bodies.readLine()) {
                answers.println(answer(line.split("\t", -1)));
            }
        }
        answers.flush();
    }

    private static void printLayouts(PrintStream answers, String direction, Schema[][] table) {
        for (int key = 0; key < table.length; key++) {
            // A key or a version without a schema is one that the release's brokers read with other code, or not at all.
            for (int version = 0; table[key] != null && version < table[key].length; version++) {
                if (table[key][version] != null) {
                    answers.println(direction + "\t" + key + "\t" + version + "\t" + layout(table[key][version]));
                }
            }
        }
    }

    private static String layout(Type type) {
        if (type instanceof Schema) {
            return object(((Schema) type).fields(), field -> layout(field.type()));
        }
        if (type instanceof ArrayOf) {
            return "{\"" + (isNullable(type) ? "[]?" : "[]") + "\": " + layout(((ArrayOf) type).type()) + "}";
        }
        return "\"" + type + "\"";
    }

    private static boolean isNullable(Type type) {
        try {
            return (boolean) type.getClass().getMethod("isNullable").invoke(type);
        } catch (NoSuchMethodException beforeNullableTypes) {
            return false;
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static String answer(String[] question) {
        Schema[][] table = question[0].equals("request") ? Protocol.REQUESTS : Protocol.RESPONSES;
        Schema schema = table[Integer.parseInt(question[1])][Integer.parseInt(question[2])];
        ByteBuffer body = ByteBuffer.wrap(HEX.parseHex(question[3]));
        try {
            Struct read = (Struct) schema.read(body);
            if (body.hasRemaining()) {
                return "refused\t" + body.remaining() + " bytes left over";
            }
            String values = value(read);
            ByteBuffer written = ByteBuffer.allocate(read.sizeOf());
            read.writeTo(written);
            return values + "\t" + HEX.formatHex(written.array(), 0, written.position());
        } catch (RuntimeException refusal) {
            return "refused\t" + refusal;
        }
    }

    private static String value(Object read) {
        if (read instanceof Struct) {
            Struct struct = (Struct) read;
            return object(struct.schema().fields(), field -> value(struct.get(field)));
        }
        if (read instanceof Object[]) {
            List<String> items = new ArrayList<>();
            for (Object item : (Object[]) read) {
                items.add(value(item));
            }
            return "[" + String.join(", ", items) + "]";
        }
        if (read instanceof ByteBuffer) {
            ByteBuffer view = ((ByteBuffer) read).duplicate();
            byte[] bytes = new byte[view.remaining()];
            view.get(bytes);
            return "\"b" + HEX.formatHex(bytes) + "\"";
        }
        if (read instanceof String) {
            return "\"s" + HEX.formatHex(((String) read).getBytes(StandardCharsets.UTF_8)) + "\"";
        }
        return String.valueOf(read);
    }

    private static String object(Field[] fields, Function<Field, String> shown) {
        List<String> members = new ArrayList<>();
        for (Field field : fields) {
            members.add("\"" + field.name + "\": " + shown.apply(field));
        }
        return "{" + String.join(", ", members) + "}";
    }
}
