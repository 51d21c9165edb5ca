import java.util.Arrays;
import java.util.Properties;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.common.quota.ClientQuotaFilter;

/**
 * What Apache's Admin sees of access: a line for each ACL, quota, SCRAM credential or token, its fields parted by tabs.
 *
 *   Access acls|quotas|scram|tokens setting=value...
 */
public class Access {
    public static void main(String[] arguments) throws Exception {
        var settings = new Properties();
        Arrays.stream(arguments).skip(1).map(each -> each.split("=", 2)).forEach(each -> settings.put(each[0], each[1]));
        var lines = new TreeSet<String>();
        try (var admin = Admin.create(settings)) {
            switch (arguments[0]) {
                case "acls" -> acls(admin, lines);
                case "quotas" -> quotas(admin, lines);
                case "scram" -> scram(admin, lines);
                case "tokens" -> tokens(admin, lines);
                default -> throw new IllegalArgumentException(arguments[0]);
            }
        }
        lines.forEach(System.out::println);
    }

    private static void acls(Admin admin, TreeSet<String> lines) throws Exception {
        for (var acl : admin.describeAcls(AclBindingFilter.ANY).values().get()) {
            var about = acl.pattern();
            var entry = acl.entry();
            lines.add(line(about.resourceType().name().toLowerCase(), about.name(), about.patternType().name().toLowerCase(),
                entry.principal(), entry.host(), entry.operation().name().toLowerCase(),
                entry.permissionType().name().toLowerCase()));
        }
    }

    private static void quotas(Admin admin, TreeSet<String> lines) throws Exception {
        for (var found : admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().entrySet()) {
            var names = found.getKey().entries();
            for (var quota : found.getValue().entrySet()) {
                lines.add(line(name(names, "user"), name(names, "client-id"), quota.getKey(), quota.getValue().toString()));
            }
        }
    }

    private static String name(java.util.Map<String, String> names, String type) {
        return !names.containsKey(type) ? "-" : names.get(type) == null ? "<default>" : names.get(type);
    }

    private static void scram(Admin admin, TreeSet<String> lines) throws Exception {
        for (var user : admin.describeUserScramCredentials().all().get().values()) {
            for (var info : user.credentialInfos()) {
                lines.add(line(user.name(), info.mechanism().mechanismName(), String.valueOf(info.iterations())));
            }
        }
    }

    private static void tokens(Admin admin, TreeSet<String> lines) throws Exception {
        for (var token : admin.describeDelegationToken().delegationTokens().get()) {
            var info = token.tokenInfo();
            var renewers = info.renewersAsString().stream().sorted().collect(Collectors.joining(","));
            lines.add(line(info.tokenId(), token.hmacAsBase64String(), info.ownerAsString(), renewers,
                String.valueOf(info.expiryTimestamp()), String.valueOf(info.maxTimestamp())));
        }
    }

    private static String line(String... fields) {
        return String.join("\t", fields);
    }
}
