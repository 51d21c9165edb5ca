import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Runs Java's assignors on the bytes that members send: a JSON object a line on standard input, one a line on standard
 * output, bytes in base64.
 *
 * {"assignor": name, "topics": {topic: [[rack or null of each replica] of each partition]},
 *  "members": [{"id", "instance", "metadata"}], "leader": name}: answers {"assignments": {id: bytes}}; a leader of the
 * same name has the same assignor, but for null. With "times": n also the nanoseconds of the fastest of n runs, "class_ns" of assign() alone and "bytes_ns" with reading and writing.
 *
 * {"assignor": name, "assigned": bytes or null, "generation": n, "subscribed": [topic], "owned": [[topic, partition]],
 *  "rack": rack or null, "version": n}: answers {"metadata": what a member with that last assignment sends}.
 */
public final class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, ConsumerPartitionAssignor> LEADERS = new HashMap<>();

    private Assignors() {
    }

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                JsonNode question = JSON.readTree(line);
                if (question.has("members")) {
                    assign(question, answer);
                } else {
                    answer.put("metadata", metadata(question));
                }
            } catch (RuntimeException thrown) {
                answer.put("error", thrown.toString());
            }
            answers.print(JSON.writeValueAsString(answer));
            answers.print('\n');
            answers.flush();
        }
    }

    private static ConsumerPartitionAssignor assignor(JsonNode question) {
        switch (question.get("assignor").asText()) {
            case "range":
                return new RangeAssignor();
            case "roundrobin":
                return new RoundRobinAssignor();
            case "sticky":
                return new StickyAssignor();
            default:
                return new CooperativeStickyAssignor();
        }
    }

    private static void assign(JsonNode question, ObjectNode answer) throws IOException {
        Cluster cluster = cluster(question.get("topics"));
        JsonNode leader = question.get("leader");
        ConsumerPartitionAssignor assignor = leader.isNull()
            ? assignor(question)
            : LEADERS.computeIfAbsent(leader.asText(), key -> assignor(question));
        Map<String, ByteBuffer> written = write(assignor.assign(cluster, read(question)).groupAssignment());
        ObjectNode assignments = answer.putObject("assignments");
        written.forEach((member, bytes) -> assignments.put(member, toArray(bytes)));
        if (question.has("times")) {
            time(question, cluster, answer);
        }
    }

    private static void time(JsonNode question, Cluster cluster, ObjectNode answer) throws IOException {
        long fastestOfClass = Long.MAX_VALUE;
        long fastestOfBytes = Long.MAX_VALUE;
        List<JsonNode> rows = new ArrayList<>();
        List<byte[]> metadata = new ArrayList<>();
        for (JsonNode row : question.get("members")) {
            rows.add(row);
            metadata.add(row.get("metadata").binaryValue());
        }
        for (int i = 0; i < question.get("times").asInt(); i++) {
            ConsumerPartitionAssignor assignor = assignor(question);
            long start = System.nanoTime();
            GroupSubscription subscriptions = read(rows, metadata);
            long before = System.nanoTime();
            Map<String, Assignment> assigned = assignor.assign(cluster, subscriptions).groupAssignment();
            fastestOfClass = Math.min(fastestOfClass, System.nanoTime() - before);
            write(assigned);
            fastestOfBytes = Math.min(fastestOfBytes, System.nanoTime() - start);
        }
        answer.put("class_ns", fastestOfClass);
        answer.put("bytes_ns", fastestOfBytes);
    }

    /** As ConsumerCoordinator.onLeaderElected. */
    private static GroupSubscription read(JsonNode question) throws IOException {
        List<JsonNode> rows = new ArrayList<>();
        List<byte[]> metadata = new ArrayList<>();
        for (JsonNode row : question.get("members")) {
            rows.add(row);
            metadata.add(row.get("metadata").binaryValue());
        }
        return read(rows, metadata);
    }

    private static GroupSubscription read(List<JsonNode> rows, List<byte[]> metadata) {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (int i = 0; i < rows.size(); i++) {
            JsonNode row = rows.get(i);
            Subscription subscription = ConsumerProtocol.deserializeSubscription(ByteBuffer.wrap(metadata.get(i)));
            JsonNode instance = row.get("instance");
            subscription.setGroupInstanceId(instance.isNull() ? Optional.empty() : Optional.of(instance.asText()));
            subscriptions.put(row.get("id").asText(), subscription);
        }
        return new GroupSubscription(subscriptions);
    }

    private static Map<String, ByteBuffer> write(Map<String, Assignment> assignments) {
        Map<String, ByteBuffer> written = new HashMap<>();
        assignments.forEach((member, assignment) -> written.put(member, ConsumerProtocol.serializeAssignment(assignment)));
        return written;
    }

    private static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            int number = 0;
            for (JsonNode racks : topic.getValue()) {
                Node[] replicas = new Node[racks.size()];
                for (int i = 0; i < replicas.length; i++) {
                    String rack = racks.get(i).isNull() ? null : racks.get(i).asText();
                    replicas[i] = nodes.computeIfAbsent(String.valueOf(rack),
                        key -> new Node(nodes.size(), "localhost", 9092, rack));
                }
                partitions.add(new PartitionInfo(topic.getKey(), number++, Node.noNode(), replicas, replicas));
            }
        });
        return new Cluster("cluster", nodes.values(), partitions, Collections.emptySet(), Collections.emptySet());
    }

    private static byte[] metadata(JsonNode question) throws IOException {
        ConsumerPartitionAssignor assignor = assignor(question);
        int generation = question.get("generation").asInt();
        if (!question.get("assigned").isNull()) {
            ByteBuffer assigned = ByteBuffer.wrap(question.get("assigned").binaryValue());
            assignor.onAssignment(ConsumerProtocol.deserializeAssignment(assigned),
                new ConsumerGroupMetadata("group", generation, "member", Optional.empty()));
        }
        List<String> topics = new ArrayList<>();
        question.get("subscribed").forEach(topic -> topics.add(topic.asText()));
        Set<String> topicSet = new HashSet<>(topics);
        List<TopicPartition> owned = new ArrayList<>();
        question.get("owned").forEach(row -> owned.add(new TopicPartition(row.get(0).asText(), row.get(1).asInt())));
        JsonNode rack = question.get("rack");
        Subscription subscription = new Subscription(topics, assignor.subscriptionUserData(topicSet), owned, generation,
            rack.isNull() ? Optional.empty() : Optional.of(rack.asText()));
        return toArray(ConsumerProtocol.serializeSubscription(subscription, (short) question.get("version").asInt()));
    }

    private static byte[] toArray(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }
}
