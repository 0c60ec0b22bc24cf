package starskip;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.ToIntBiFunction;

/**
 * The files of one version of metadata by path, so that a scan's files are found in it without a call from Python for
 * each. Applied to a path and {size in bytes, time of modification}, it gives the file's row in the
 * metadata, or -1.
 */
public final class KnownFiles implements ToIntBiFunction {
    private final Map positions = new HashMap();
    private final long[] numbers;

    /** paths: as ListedFiles packs them; numbers: sizes, then times of modification; trusted: a byte for each file. */
    public KnownFiles(byte[] paths, byte[] numbers, byte[] trusted) {
        int files = trusted.length;
        this.numbers = new long[2 * files];
        ByteBuffer.wrap(numbers).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer().get(this.numbers);
        ByteBuffer lengths = ByteBuffer.wrap(paths).order(ByteOrder.LITTLE_ENDIAN);
        int start = 4 * files;
        for (int at = 0; at < files; at++) {
            int length = lengths.getInt(4 * at);
            if (trusted[at] != 0) {
                String path = new String(paths, start, length, StandardCharsets.UTF_8);
                positions.put(plain(path), Integer.valueOf(at));
            }
            start += length;
        }
    }

    public int applyAsInt(Object path, Object identity) {
        Object found = positions.get(plain((String) path));
        if (found == null) {
            return -1;
        }
        int at = ((Integer) found).intValue();
        long[] given = (long[]) identity;
        return numbers[at] == given[0] && numbers[positions(at)] == given[1] ? at : -1;
    }

    private int positions(int at) {
        return numbers.length / 2 + at;
    }

    /** One spelling for all paths of a file: file:/a, file:///a and /a; s3a://b/c and s3://b/c. */
    private static String plain(String path) {
        if (path.startsWith("file:/")) {
            int at = 5;
            while (at + 1 < path.length() && path.charAt(at + 1) == '/') {
                at++;
            }
            return path.substring(at);
        }
        if (path.startsWith("s3a://") || path.startsWith("s3n://")) {
            return "s3" + path.substring(3);
        }
        return path;
    }
}
