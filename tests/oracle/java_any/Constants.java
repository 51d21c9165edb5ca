import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/**
 * Prints the constants of classes of any release, one a line with tabs between: the class as it was asked for, the number,
 * the name; of an enum of errors also whether its exception is retriable and whether it asks for new metadata, and of an
 * enum of APIs the oldest and the newest version.
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
                    System.out.println(name + "\t" + number(constant) + "\t" + ((Enum<?>) constant).name() + flags(constant)
                        + versions(constant));
                }
            } else {
                printScalaObject(name, type);
            }
        }
    }

    private static Object number(Object constant) throws ReflectiveOperationException {
        for (String name : NUMBERS) {
            try {
                Method method = constant.getClass().getMethod(name);
                method.setAccessible(true);
                return method.invoke(constant);
            } catch (NoSuchMethodException none) {
                continue;
            }
        }
        return constant.getClass().getField("id").get(constant);
    }

    private static String flags(Object constant) throws ReflectiveOperationException {
        Method exception;
        try {
            exception = constant.getClass().getMethod("exception");
        } catch (NoSuchMethodException none) {
            return "";
        }
        Object thrown = exception.invoke(constant);
        return "\t" + is(thrown, "RetriableException") + "\t" + is(thrown, "InvalidMetadataException");
    }

    /** Of an API without versions, a newest below the oldest. Which are stable, only newer releases say. */
    private static String versions(Object constant) throws ReflectiveOperationException {
        Method oldest;
        try {
            oldest = constant.getClass().getMethod("oldestVersion");
        } catch (NoSuchMethodException none) {
            return "";
        }
        try {
            return "\t" + oldest.invoke(constant) + "\t" + newest(constant);
        } catch (InvocationTargetException none) {
            return "\t0\t-1";
        }
    }

    private static Object newest(Object constant) throws ReflectiveOperationException {
        try {
            return constant.getClass().getMethod("latestVersion", boolean.class).invoke(constant, false);
        } catch (NoSuchMethodException older) {
            return constant.getClass().getMethod("latestVersion").invoke(constant);
        }
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
