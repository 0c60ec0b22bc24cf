package starskip;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.PartitionSpec$;

/** Files that a table's log names, as a listing of Spark's, made without asking the file system. */
public final class GivenFiles {
    private final SparkSession session;
    private final Path root;
    private final FileStatus[] files;

    /** paths: as ListedFiles packs them; numbers: sizes, then times of modification. */
    public GivenFiles(SparkSession session, String root, byte[] paths, byte[] numbers) {
        this.session = session;
        this.root = new Path(root);
        this.files = new FileStatus[numbers.length / 16];
        ByteBuffer lengths = ByteBuffer.wrap(paths).order(ByteOrder.LITTLE_ENDIAN);
        ByteBuffer values = ByteBuffer.wrap(numbers).order(ByteOrder.LITTLE_ENDIAN);
        int start = 4 * files.length;
        for (int at = 0; at < files.length; at++) {
            int length = lengths.getInt(4 * at);
            Path path = new Path(new String(paths, start, length, StandardCharsets.UTF_8));
            long modified = values.getLong(8 * (files.length + at));
            files[at] = new FileStatus(values.getLong(8 * at), false, 1, 128L << 20, modified, path);
            start += length;
        }
    }

    /** The listing; the table's own partitions play no part in it. */
    public InMemoryFileIndex index() {
        scala.collection.immutable.Map all = (scala.collection.immutable.Map)
            scala.collection.immutable.Map$.MODULE$.empty();
        scala.collection.immutable.List none = (scala.collection.immutable.List)
            scala.collection.immutable.Nil$.MODULE$;
        return new InMemoryFileIndex(
            session,
            none.$colon$colon(root),
            // Otherwise only files directly in the root are listed.
            (scala.collection.immutable.Map) all.updated("recursiveFileLookup", "true"),
            scala.Option.empty(),
            new OnlyGiven(files),
            scala.Option.apply(PartitionSpec$.MODULE$.emptySpec()),
            scala.Option.empty());
    }
}

/** Answers for any folder that these are its files. */
final class OnlyGiven extends FileStatusCache {
    private final FileStatus[] files;

    OnlyGiven(FileStatus[] files) {
        this.files = files;
    }

    public scala.Option getLeafFiles(Path path) {
        return scala.Option.apply(files);
    }

    public void putLeafFiles(Path path, FileStatus[] given) {
    }

    public void invalidateAll() {
    }
}
