import org.apache.kafka.connect.runtime.distributed.ConnectProtocol;
import org.apache.kafka.connect.runtime.distributed.ExtendedAssignment;
import org.apache.kafka.connect.runtime.distributed.ExtendedWorkerState;
import org.apache.kafka.connect.runtime.distributed.IncrementalCooperativeConnectProtocol;
import org.apache.kafka.connect.util.ConnectorTaskId;

import java.nio.ByteBuffer;
import java.util.List;

/** Prints what workers of Kafka Connect hand out: "metadata" or "assignment", the version, the bytes in hexadecimal. */
public final class ConnectBlobs {
    private ConnectBlobs() {
    }

    public static void main(String[] arguments) {
        List<ConnectorTaskId> tasks = List.of(new ConnectorTaskId("orders", 0), new ConnectorTaskId("orders", 3));
        print("metadata", 0, ConnectProtocol.serializeMetadata(new ConnectProtocol.WorkerState("http://größe:8083/", 7)));
        print("assignment", 0, ConnectProtocol.serializeAssignment(new ConnectProtocol.Assignment(
            (short) 1, "leader-1", "http://leader:8083/", 9, List.of("orders"), tasks)));
        for (short version = 1; version <= 2; version++) {
            boolean signed = version == 2;
            ExtendedAssignment assignment = new ExtendedAssignment(version, (short) 0, "leader-1", "http://leader:8083/", 9,
                List.of("orders"), tasks, List.of("gone"), List.of(new ConnectorTaskId("gone", 1)), 60_000);
            print("assignment", version, IncrementalCooperativeConnectProtocol.serializeAssignment(assignment, signed));
            print("metadata", version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState("http://größe:8083/", 7, assignment), signed));
            print("metadata", version, IncrementalCooperativeConnectProtocol.serializeMetadata(
                new ExtendedWorkerState("http://größe:8083/", 7, null), signed));
        }
    }

    private static void print(String kind, int version, ByteBuffer buffer) {
        StringBuilder hex = new StringBuilder();
        while (buffer.hasRemaining()) {
            hex.append(String.format("%02x", buffer.get()));
        }
        System.out.println(kind + "\t" + version + "\t" + hex);
    }
}
