import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Reads and writes messages with the Scala classes (kafka.api) that the brokers of 0.8 and 0.9 had.
 *
 * Lines of a class and bytes in hexadecimal come in: of a request all that follows its key, of a response all that
 * follows its size. For each the plain values come out as a JSON array, in the order of the classes' own fields (text as
 * "s" before its hexadecimal form), a tab, and the bytes as the class writes them; or "refused", a tab, and what was
 * thrown.
 *
 * Run from its source, with nothing but the release's jars: old releases have no JSON library.
 */
public final class ScalaMessages {
    private static final HexFormat HEX = HexFormat.of();

    private ScalaMessages() {
    }

    public static void main(String[] none) throws Exception {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            String[] question = line.split("\t", -1);
            answers.println(answer(Class.forName("kafka.api." + question[0]), HEX.parseHex(question[1])));
        }
        answers.flush();
    }

    private static String answer(Class<?> type, byte[] data) throws ReflectiveOperationException {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        try {
            Object read = type.getMethod("readFrom", ByteBuffer.class).invoke(null, buffer);
            if (buffer.hasRemaining()) {
                return "refused\t" + buffer.remaining() + " bytes left over";
            }
            // Not sizeInBytes, which takes a character for a byte.
            ByteBuffer written = ByteBuffer.allocate(2 * data.length);
            type.getMethod("writeTo", ByteBuffer.class).invoke(read, written);
            List<String> values = new ArrayList<>();
            collect(read, values);
            return "[" + String.join(", ", values) + "]\t" + HEX.formatHex(written.array(), 0, written.position());
        } catch (InvocationTargetException refusal) {
            return "refused\t" + refusal.getCause();
        }
    }

    /** Case classes, tuples and options are products; a list is one, too, and is taken as a collection. */
    private static void collect(Object read, List<String> values) {
        if (read instanceof scala.collection.Iterable) {
            collectAll(((scala.collection.Iterable<?>) read).iterator(), values);
        } else if (read instanceof scala.Product) {
            collectAll(((scala.Product) read).productIterator(), values);
        } else if (read instanceof String) {
            values.add("\"s" + HEX.formatHex(((String) read).getBytes(StandardCharsets.UTF_8)) + "\"");
        } else {
            values.add(String.valueOf(read));
        }
    }

    private static void collectAll(scala.collection.Iterator<?> items, List<String> values) {
        while (items.hasNext()) {
            collect(items.next(), values);
        }
    }
}
