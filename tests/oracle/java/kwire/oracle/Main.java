package kwire.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * Answers questions about bytes with Apache Kafka's own classes: one JSON object a line on standard input, one a line on
 * standard output, bytes in base64. What a verb throws is an answer, too: {"error": {"class": ..., "message": ...}}.
 */
public final class Main {
    private Main() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        // Logging goes to standard output by default, which would break into the answers.
        System.setOut(System.err);
        ObjectMapper json = new ObjectMapper();
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.print(json.writeValueAsString(answer(json.readTree(line))));
            answers.print('\n');
            answers.flush();
        }
    }

    private static JsonNode answer(JsonNode question) {
        try {
            return dispatch(question);
        } catch (Throwable thrown) {
            // Errors too: snappy has its own, and a hostile length exhausts the heap. The next question is answered again.
            ObjectNode error = JsonNodeFactory.instance.objectNode();
            error.put("class", thrown.getClass().getName());
            error.put("message", String.valueOf(thrown.getMessage()));
            ObjectNode answer = JsonNodeFactory.instance.objectNode();
            answer.set("error", error);
            return answer;
        }
    }

    private static JsonNode dispatch(JsonNode question) throws Exception {
        String verb = question.get("verb").asText();
        switch (verb) {
            case "write":
                return RecordWriter.write(question);
            case "end-marker":
                return RecordWriter.endMarker(question);
            case "leader-change":
                return RecordWriter.leaderChange(question);
            case "empty-batch":
                return RecordWriter.emptyBatch(question);
            case "read":
                return RecordReader.read(question.get("bytes").binaryValue());
            case "message-versions":
                return Messages.versions(question);
            case "header-versions":
                return Messages.headerVersions(question);
            case "message-to-json":
                return Messages.toJson(question);
            case "message-to-bytes":
                return Messages.toBytes(question);
            case "log-record":
                return LogRecords.read(question);
            case "random-message":
                return Messages.random(question);
            default:
                throw new IllegalArgumentException("unknown verb " + verb);
        }
    }
}
