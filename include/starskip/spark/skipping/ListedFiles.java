package starskip;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.net.URI;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.execution.datasources.FileStatusCache;
import org.apache.spark.sql.execution.datasources.FileStatusWithMetadata;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionDirectory;
import org.apache.spark.sql.execution.datasources.PartitionSpec;

/**
 * The files of one snapshot of a listing, which stay in the JVM: Python asks for whole columns, and passes a
 * mask with the files that a query shall read. Columns go as text, since py4j takes bytes apart one by
 * one. Compiled by Janino, which knows no generic types.
 */
public final class ListedFiles {
    private static final int ROOTS = 16;
    private final InMemoryFileIndex whole;
    private final FileStatus[] files;

    public ListedFiles(InMemoryFileIndex whole) {
        this.whole = whole;
        this.files = new FileStatus[whole.allFiles().size()];
        whole.allFiles().copyToArray(files);
    }

    private ListedFiles(InMemoryFileIndex whole, FileStatus[] files) {
        this.whole = whole;
        this.files = files;
    }

    public int count() {
        return files.length;
    }

    /** The files' sizes in bytes, then their times of modification. */
    public Object numbers() {
        ByteBuffer made = ByteBuffer.allocate(16 * files.length).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 0; at < files.length; at++) {
            made.putLong(8 * at, files[at].getLen());
            made.putLong(8 * (files.length + at), files[at].getModificationTime());
        }
        return Answers.bytes(made.array());
    }

    /** The lengths in UTF-8 of the paths of files from..until-1, then the paths themselves. */
    public Object paths(int from, int until, boolean asUri) {
        byte[][] texts = new byte[until - from][];
        int size = 4 * texts.length;
        for (int at = 0; at < texts.length; at++) {
            Path path = files[from + at].getPath();
            texts[at] = (asUri ? path.toUri().toString() : path.toString()).getBytes(StandardCharsets.UTF_8);
            size = Math.addExact(size, texts[at].length);
        }
        ByteBuffer made = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 0; at < texts.length; at++) {
            made.putInt(texts[at].length);
        }
        for (int at = 0; at < texts.length; at++) {
            made.put(texts[at]);
        }
        return Answers.bytes(made.array());
    }

    /** The files whose bits are set. */
    public ListedFiles chosen(byte[] bits) {
        BitSet set = BitSet.valueOf(bits);
        FileStatus[] left = new FileStatus[set.cardinality()];
        int at = 0;
        for (int position = set.nextSetBit(0); position >= 0; position = set.nextSetBit(position + 1)) {
            left[at++] = files[position];
        }
        return new ListedFiles(whole, left);
    }

    /** The bits of the files in partitions that pass the filters, pruned as Spark does. */
    public Object inPartitions(scala.collection.immutable.Seq filters) throws Exception {
        Set kept = new HashSet();
        scala.collection.Iterator folders = whole.listFiles(
            filters, (scala.collection.immutable.Seq) scala.collection.immutable.Nil$.MODULE$).iterator();
        while (folders.hasNext()) {
            scala.collection.Iterator of = ((PartitionDirectory) folders.next()).files().iterator();
            while (of.hasNext()) {
                kept.add(((FileStatusWithMetadata) of.next()).fileStatus());
            }
        }
        BitSet bits = new BitSet(files.length);
        for (int at = 0; at < files.length; at++) {
            bits.set(at, kept.contains(files[at]));
        }
        return Answers.packed(bits);
    }

    /** The listing with these files alone, made without asking the file system. */
    public InMemoryFileIndex index(SparkSession session) {
        // With several roots the first stands for all: they are only shown in EXPLAIN.
        scala.collection.immutable.Seq roots = whole.rootPaths();
        return new DataSkippingFileIndex(
            session,
            roots.size() > ROOTS ? (scala.collection.immutable.Seq) roots.take(1) : roots,
            whole,
            files);
    }

    /** The relation with these files alone, and an option that distinguishes it from others with the same roots. */
    public LogicalRelation relation(LogicalRelation of, String option, String value) {
        HadoopFsRelation old = (HadoopFsRelation) of.relation();
        HadoopFsRelation made = new HadoopFsRelation(
            index(old.sparkSession()),
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            old.fileFormat(),
            (scala.collection.immutable.Map) old.options().updated(option, value),
            old.sparkSession());
        return of.copy(made, of.output(), of.catalogTable(), of.isStreaming(), of.stream());
    }
}

/** A listing from which files were left out; EXPLAIN shows its name. After a refresh it is the whole one. */
final class DataSkippingFileIndex extends InMemoryFileIndex {
    private final InMemoryFileIndex whole;
    private volatile FileStatus[] files;
    private scala.collection.immutable.Map byFolder;

    DataSkippingFileIndex(
            SparkSession session,
            scala.collection.immutable.Seq roots,
            InMemoryFileIndex whole,
            FileStatus[] files) {
        super(
            session,
            roots,
            (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.empty(),
            scala.Option.empty(),
            new NothingListed(),
            scala.Option.apply(whole.partitionSpec()),
            scala.Option.empty());
        this.whole = whole;
        this.files = files;
    }

    public scala.collection.immutable.Seq allFiles() {
        FileStatus[] now = files;
        return now == null
            ? whole.allFiles()
            : (scala.collection.immutable.Seq) scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(now);
    }

    public long sizeInBytes() {
        FileStatus[] now = files;
        if (now == null) {
            return whole.sizeInBytes();
        }
        long size = 0;
        for (int at = 0; at < now.length; at++) {
            size += now[at].getLen();
        }
        return size;
    }

    public scala.collection.immutable.Seq listFiles(
            scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
        return files == null
            ? whole.listFiles(partitionFilters, dataFilters)
            : super.listFiles(partitionFilters, dataFilters);
    }

    public PartitionSpec partitionSpec() {
        // Asked by the parent's constructor, too.
        return whole != null && files == null ? whole.partitionSpec() : super.partitionSpec();
    }

    public scala.collection.mutable.LinkedHashMap leafFiles() {
        FileStatus[] now = files;
        if (now == null) {
            return whole.leafFiles();
        }
        scala.collection.mutable.LinkedHashMap made = new scala.collection.mutable.LinkedHashMap();
        for (int at = 0; at < now.length; at++) {
            made.put(now[at].getPath(), now[at]);
        }
        return made;
    }

    public synchronized scala.collection.immutable.Map leafDirToChildrenFiles() {
        FileStatus[] now = files;
        if (now == null) {
            return whole.leafDirToChildrenFiles();
        }
        if (byFolder == null) {
            byFolder = byFolder(now);
        }
        return byFolder;
    }

    public void refresh() {
        whole.refresh();
        files = null;
    }

    private static scala.collection.immutable.Map byFolder(FileStatus[] files) {
        Map found = new LinkedHashMap();
        URI last = null;
        List folder = null;
        for (int at = 0; at < files.length; at++) {
            URI uri = files[at].getPath().toUri();
            // Files of a folder follow one another as they were listed.
            if (last == null || !inOneFolder(uri, last)) {
                Path parent = files[at].getPath().getParent();
                folder = (List) found.get(parent);
                if (folder == null) {
                    folder = new ArrayList();
                    found.put(parent, folder);
                }
            }
            folder.add(files[at]);
            last = uri;
        }
        for (Iterator entries = found.entrySet().iterator(); entries.hasNext();) {
            Map.Entry entry = (Map.Entry) entries.next();
            entry.setValue(((List) entry.getValue()).toArray(new FileStatus[0]));
        }
        return (scala.collection.immutable.Map) scala.collection.immutable.Map$.MODULE$.from(
            scala.jdk.javaapi.CollectionConverters.asScala(found));
    }

    private static boolean inOneFolder(URI one, URI other) {
        String path = one.getPath();
        int end = path.lastIndexOf('/');
        return end == other.getPath().lastIndexOf('/')
            && path.regionMatches(0, other.getPath(), 0, end)
            && Objects.equals(one.getScheme(), other.getScheme())
            && Objects.equals(one.getAuthority(), other.getAuthority());
    }
}

/** Lets the parent of a listing start from no files without a look at the file system. */
final class NothingListed extends FileStatusCache {
    public scala.Option getLeafFiles(Path path) {
        return scala.Option.apply(new FileStatus[0]);
    }

    public void putLeafFiles(Path path, FileStatus[] files) {
    }

    public void invalidateAll() {
    }
}
