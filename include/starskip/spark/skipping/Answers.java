package starskip;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.BitSet;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;

/**
 * Answers to Python that may be long. Py4J sends more than 8 KiB in two pieces, the second one when TCP has
 * acknowledged the first, 40 ms later (Nagle's algorithm). So a long text is returned as an object, which Python
 * reads piece by piece; a text so long that the pieces would take more than 40 ms is returned whole.
 */
public final class Answers {
    private static final int AT_ONCE = 8000;
    private static final int PIECES = 100;

    private Answers() {
    }

    /** An ASCII text, or the object that holds it. */
    private static Object text(String text) {
        boolean isWhole = text.length() <= AT_ONCE || text.length() > AT_ONCE * PIECES;
        return isWhole ? (Object) text : new StringBuilder(text);
    }

    /** Bytes in base64. */
    public static Object bytes(byte[] content) {
        return text(Base64.getEncoder().encodeToString(content));
    }

    /** A text, deflated, in base64. */
    public static Object packed(String text) throws Exception {
        return packed(text.getBytes(StandardCharsets.UTF_8));
    }

    /** Bits as the bytes of a BitSet, deflated, in base64. */
    public static Object packed(BitSet bits) throws Exception {
        return packed(bits.toByteArray());
    }

    private static Object packed(byte[] content) throws Exception {
        ByteArrayOutputStream made = new ByteArrayOutputStream();
        Deflater deflater = new Deflater(Deflater.BEST_SPEED);
        try {
            DeflaterOutputStream deflated = new DeflaterOutputStream(made, deflater);
            deflated.write(content);
            deflated.close();
        } finally {
            deflater.end(); // zlib's memory is outside the heap, and would stay until a collection
        }
        return bytes(made.toByteArray());
    }
}
