// A SimSpark agent: java SimsparkAgent HOST PORT [SWITCH[,SWITCH...]]
//
// The agent turns one joint in each cycle and knows the hinges of its body. Operations come on standard input.
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

public class SimsparkAgent {
    static final int LONGEST = 1 << 24;
    static final Pattern TOKEN = Pattern.compile("[()]|[^\\s()]+");
    static final Pattern ASKED = Pattern.compile("\"id\": *([^,}]+).*?\"op\": *\"(\\w+)\"");
    static final Pattern EFFECTORS = Pattern.compile("\"effectors\": *\"([^\"]*)\"");
    static final Map<String, Double> hinges = new TreeMap<>();
    static final Set<String> KNOWN = Set.of("time", "GS", "GYR", "ACC", "HJ", "UJ", "TCH", "FRP", "See", "hear", "AgentState");
    static Set<String> switches = Set.of();
    static DataOutputStream out;

    static boolean has(String name) {
        return switches.contains(name);
    }

    static synchronized void send(String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
        out.write(ByteBuffer.allocate(4 + bytes.length).putInt(bytes.length).put(bytes).array());
    }

    /** The expressions of a text as nested lists; null if its brackets do not match. */
    static List<Object> read(String text) {
        Deque<List<Object>> open = new ArrayDeque<>();
        open.push(new ArrayList<>());
        for (Matcher m = TOKEN.matcher(text); m.find(); ) {
            if (m.group().equals("(")) {
                List<Object> list = new ArrayList<>();
                open.peek().add(list);
                open.push(list);
            } else if (!m.group().equals(")")) {
                open.peek().add(m.group());
            } else if (open.size() == 1) {
                return null;
            } else {
                open.pop();
            }
        }
        return open.size() == 1 ? open.pop() : null;
    }

    static synchronized void take(String text) {
        if (has("die-empty") && text.charAt(0) == '\0') return;
        List<Object> parts = read(text);
        if (parts == null) return;
        for (Object part : parts) {
            if (!(part instanceof List<?> list) || list.isEmpty() || !(list.get(0) instanceof String name)) continue;
            if (has("die-unknown") && !KNOWN.contains(name))
                throw new IllegalArgumentException("No enum constant Perceptor." + name);
            if (name.equals("HJ")) hinge(list);
        }
    }

    static void hinge(List<?> list) {
        String name = null, angle = null;
        for (Object member : list) {
            if (!(member instanceof List<?> pair) || pair.size() != 2 || !(pair.get(1) instanceof String value)) continue;
            if ("n".equals(pair.get(0))) name = value;
            if ("ax".equals(pair.get(0))) angle = value;
        }
        if (name == null || angle == null) return;
        try {
            double value = Double.parseDouble(angle);
            if (has("hinge-once") && hinges.containsKey(name)) return;
            hinges.put(name, value);
        } catch (NumberFormatException e) {
            System.err.println("not a number: " + angle);
        }
    }

    static String receive(DataInputStream in) throws IOException {
        int length = in.readInt();
        if (length < 0 || length > LONGEST) throw new IOException("a message of " + Integer.toUnsignedString(length) + " bytes");
        byte[] bytes = new byte[length];
        if (has("die-long")) ByteBuffer.allocate(8192).put(bytes);
        if (has("close-split") && length > 0) {
            if (in.read(bytes) < length) throw new EOFException("the message is cut");
        } else {
            in.readFully(bytes);
        }
        return new String(bytes, StandardCharsets.US_ASCII);
    }

    static void operations() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line; (line = lines.readLine()) != null; ) {
                Matcher asked = ASKED.matcher(line), effectors = EFFECTORS.matcher(line);
                if (!asked.find()) continue;
                String rest = "\"ok\": false, \"offered\": false";
                if (asked.group(2).equals("state")) {
                    synchronized (SimsparkAgent.class) {
                        rest = "\"ok\": true, \"result\": {\"hinges\": {" + hinges.entrySet().stream()
                                .filter(e -> Double.isFinite(e.getValue()))
                                .map(e -> "\"" + e.getKey() + "\": " + e.getValue()).collect(Collectors.joining(", ")) + "}}";
                    }
                } else if (asked.group(2).equals("act") && effectors.find()) {
                    send(effectors.group(1));
                    rest = "\"ok\": true";
                }
                System.out.println("{\"id\": " + asked.group(1) + ", " + rest + "}");
            }
        } catch (IOException e) {
            System.err.println(e.getMessage());
        }
        System.exit(0);
    }

    public static void main(String[] args) throws IOException {
        if (args.length > 2) switches = Set.of(args[2].split(","));
        try (Socket socket = new Socket(args[0], Integer.parseInt(args[1]))) {
            socket.setTcpNoDelay(true);
            out = new DataOutputStream(socket.getOutputStream());
            DataInputStream in = new DataInputStream(socket.getInputStream());
            Thread tester = new Thread(SimsparkAgent::operations);
            tester.setDaemon(true);
            tester.start();
            send("(scene rsg/agent/nao/nao.rsg)");
            if (!has("no-init")) send("(init (unum 3)(teamname Strangers))");
            while (true) {
                take(receive(in));
                send("(he1 0.5)");
            }
        } catch (IOException e) {
            System.err.println("the session ended: " + e.getMessage());
        }
        System.exit(0);
    }
}
