import java.io.*;
import java.lang.reflect.*;
import java.nio.charset.StandardCharsets;
import java.util.*;

/**
 * Runs Kafka's command-line tools. With arguments: the tool that the first one names, as its script would. Without: many tools one
 * after the other in this one process, because a process for each would cost the tests more than all they do. A request on standard
 * input is a count and that many strings, the tool and its arguments, and then the tool's standard input, a string too. The answer is
 * the exit code, standard output and standard error. Numbers have four bytes; a string is its length and UTF-8.
 */
public class Tools {
    /** The main classes by the name of the tool's script; they have moved between the versions of Kafka. */
    static final Map<String, List<String>> CLASSES = Map.ofEntries(
        Map.entry("kafka-topics", List.of("org.apache.kafka.tools.TopicCommand", "kafka.admin.TopicCommand")),
        Map.entry("kafka-configs", List.of("org.apache.kafka.tools.ConfigCommand", "kafka.admin.ConfigCommand")),
        Map.entry("kafka-acls", List.of("org.apache.kafka.tools.AclCommand", "kafka.admin.AclCommand")),
        Map.entry("kafka-get-offsets", List.of("org.apache.kafka.tools.GetOffsetShell", "kafka.tools.GetOffsetShell")),
        Map.entry("kafka-consumer-groups", List.of("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "kafka.admin.ConsumerGroupCommand")),
        Map.entry("kafka-groups", List.of("org.apache.kafka.tools.GroupsCommand")),
        Map.entry("kafka-delete-records", List.of("org.apache.kafka.tools.DeleteRecordsCommand", "kafka.admin.DeleteRecordsCommand")),
        Map.entry("kafka-leader-election", List.of("org.apache.kafka.tools.LeaderElectionCommand", "kafka.admin.LeaderElectionCommand")),
        Map.entry("kafka-log-dirs", List.of("org.apache.kafka.tools.LogDirsCommand", "kafka.admin.LogDirsCommand")),
        Map.entry("kafka-cluster", List.of("org.apache.kafka.tools.ClusterTool", "kafka.tools.ClusterTool")),
        Map.entry("kafka-features", List.of("org.apache.kafka.tools.FeatureCommand", "kafka.admin.FeatureCommand")),
        Map.entry("kafka-transactions", List.of("org.apache.kafka.tools.TransactionsCommand")),
        Map.entry("kafka-metadata-quorum", List.of("org.apache.kafka.tools.MetadataQuorumCommand")),
        Map.entry("kafka-reassign-partitions",
            List.of("org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "kafka.admin.ReassignPartitionsCommand")),
        Map.entry("kafka-broker-api-versions", List.of("org.apache.kafka.tools.BrokerApiVersionsCommand", "kafka.admin.BrokerApiVersionsCommand")),
        Map.entry("kafka-console-producer", List.of("org.apache.kafka.tools.ConsoleProducer", "kafka.tools.ConsoleProducer")),
        Map.entry("kafka-console-consumer", List.of("org.apache.kafka.tools.consumer.ConsoleConsumer", "kafka.tools.ConsoleConsumer")),
        Map.entry("kafka-producer-perf-test", List.of("org.apache.kafka.tools.ProducerPerformance")),
        Map.entry("kafka-consumer-perf-test", List.of("org.apache.kafka.tools.ConsumerPerformance", "kafka.tools.ConsumerPerformance")),
        Map.entry("kafka-verifiable-producer", List.of("org.apache.kafka.tools.VerifiableProducer")),
        Map.entry("kafka-verifiable-consumer", List.of("org.apache.kafka.tools.VerifiableConsumer")));

    /** Thrown in place of an exit. An Error, because the tools catch exceptions. */
    static class Exited extends Error { }

    /** The code of the first exit of the tool that runs, or null. */
    static volatile Integer exitCode;

    /** Where standard output and error go now. Libraries keep the first System.out that they see, so that one never changes. */
    static class Switch extends OutputStream {
        volatile OutputStream to = new ByteArrayOutputStream();
        @Override public void write(int b) throws IOException { to.write(b); }
        @Override public void write(byte[] b, int off, int len) throws IOException { to.write(b, off, len); }
    }

    public static void main(String[] args) throws Throwable {
        if (args.length > 0) {
            find(args[0]).invoke(null, (Object) Arrays.copyOfRange(args, 1, args.length));
            return;
        }
        DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
        Switch stdout = new Switch(), stderr = new Switch();
        System.setOut(new PrintStream(stdout, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(stderr, true, StandardCharsets.UTF_8));
        catchExits();
        while (true) {
            String[] command;
            try {
                command = new String[in.readInt()];
            } catch (EOFException end) {
                return;
            }
            for (int i = 0; i < command.length; i++) command[i] = new String(read(in), StandardCharsets.UTF_8);
            System.setIn(new ByteArrayInputStream(read(in)));
            ByteArrayOutputStream toolOut = new ByteArrayOutputStream(), toolErr = new ByteArrayOutputStream();
            stdout.to = toolOut;
            stderr.to = toolErr;
            out.writeInt(run(command));
            System.out.flush();
            System.err.flush();
            write(out, toolOut);
            write(out, toolErr);
            out.flush();
        }
    }

    static int run(String[] command) {
        exitCode = null;
        try {
            find(command[0]).invoke(null, (Object) Arrays.copyOfRange(command, 1, command.length));
        } catch (InvocationTargetException e) {
            if (exitCode == null) {
                e.getCause().printStackTrace();
                return 1; // what java does with an exception that main throws
            }
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            return 127;
        }
        return exitCode == null ? 0 : exitCode;
    }

    static Method find(String tool) throws ReflectiveOperationException {
        for (String name : CLASSES.getOrDefault(tool, List.of())) {
            try {
                return Class.forName(name).getMethod("main", String[].class);
            } catch (ClassNotFoundException moved) {
                // it has another name in this version
            }
        }
        throw new ClassNotFoundException(tool);
    }

    /** Makes Kafka's own Exit class note the code and unwind, instead of ending the process. */
    static void catchExits() throws ReflectiveOperationException {
        Class<?> exit;
        try {
            exit = Class.forName("org.apache.kafka.common.utils.Exit");
        } catch (ClassNotFoundException moved) {
            exit = Class.forName("org.apache.kafka.common.utils.internals.Exit"); // since 4.4
        }
        Class<?> procedure = Class.forName(exit.getName() + "$Procedure");
        Object unwind = Proxy.newProxyInstance(Tools.class.getClassLoader(), new Class<?>[] {procedure}, (proxy, method, args) -> {
            if (exitCode == null) exitCode = (Integer) args[0];
            throw new Exited();
        });
        exit.getMethod("setExitProcedure", procedure).invoke(null, unwind);
        exit.getMethod("setHaltProcedure", procedure).invoke(null, unwind);
    }

    static byte[] read(DataInputStream in) throws IOException {
        byte[] b = new byte[in.readInt()];
        in.readFully(b);
        return b;
    }

    static void write(DataOutputStream out, ByteArrayOutputStream text) throws IOException {
        byte[] b = text.toByteArray();
        out.writeInt(b.length);
        out.write(b);
    }
}
