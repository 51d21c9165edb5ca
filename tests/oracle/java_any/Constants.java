import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Prints the constants of classes of any release, one a line with tabs between: the class as it was asked for, the number,
 * the name, and of an enum of errors whether its exception is retriable and whether it asks for new metadata.
 *
 * Run from its source, with nothing but the release's jars: old releases have no JSON library.
 */
public final class Constants {
    private static final String[] NUMBERS = {"code", "id", "type"};

    private Constants() {
    }

    public static void main(String[] classes) throws Exception {
        for (String name : classes) {
            Class<?> type = Class.forName(name);
            if (type.isEnum()) {
                for (Object constant : type.getEnumConstants()) {
                    System.out.println(name + "\t" + number(constant) + "\t" + ((Enum<?>) constant).name() + flags(constant));
                }
            } else {
                printScalaObject(name, type);
            }
        }
    }

    private static Object number(Object constant) throws Exception {
        for (String name : NUMBERS) {
            try {
                Method method = constant.getClass().getMethod(name);
                method.setAccessible(true);
                return method.invoke(constant);
            } catch (NoSuchMethodException none) {
                continue;
            }
        }
        throw new NoSuchMethodException("no number in " + constant.getClass());
    }

    private static String flags(Object constant) throws IllegalAccessException, InvocationTargetException {
        Method exception;
        try {
            exception = constant.getClass().getMethod("exception");
        } catch (NoSuchMethodException none) {
            return "";
        }
        Object thrown = exception.invoke(constant);
        return "\t" + is(thrown, "RetriableException") + "\t" + is(thrown, "InvalidMetadataException");
    }

    private static boolean is(Object thrown, String name) {
        for (Class<?> type = thrown == null ? null : thrown.getClass(); type != null; type = type.getSuperclass()) {
            if (type.getName().equals("org.apache.kafka.common.errors." + name)) {
                return true;
            }
        }
        return false;
    }

    private static void printScalaObject(String name, Class<?> type) throws Exception {
        Object module = type.getField("MODULE$").get(null);
        for (Method method : type.getMethods()) {
            boolean constant = method.getParameterCount() == 0 && method.getReturnType() == short.class;
            if (constant) {
                System.out.println(name + "\t" + method.invoke(module) + "\t" + method.getName());
            }
        }
    }
}
