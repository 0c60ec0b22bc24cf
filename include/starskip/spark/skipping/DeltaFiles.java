package starskip;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.ToIntBiFunction;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.files.TahoeFileIndexWithSnapshotDescriptor;
import org.apache.spark.sql.delta.stats.PreparedDeltaFileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/**
 * The files that Delta has chosen for a scan by its own statistics and partitions, which stay in the JVM: Python
 * asks for their rows in its metadata, and passes a mask over these rows with the files to read.
 */
public final class DeltaFiles {
    private final LogicalRelation of;
    private final PreparedDeltaFileIndex index;
    private final AddFile[] files;
    private int[] positions;

    public DeltaFiles(LogicalRelation of) {
        this.of = of;
        this.index = (PreparedDeltaFileIndex) ((HadoopFsRelation) of.relation()).location();
        this.files = new AddFile[index.preparedScan().files().size()];
        index.preparedScan().files().copyToArray(files);
    }

    /** The table's folder, its schema in JSON, files and bytes of the version, files and bytes of the scan. */
    public scala.collection.Iterable facts() {
        long size = 0;
        for (int at = 0; at < files.length; at++) {
            size += files[at].size();
        }
        List found = new ArrayList();
        found.add(index.dataPath().toString());
        found.add(index.metadata().schemaString());
        found.add(text(index.preparedScan().total().files()));
        found.add(text(index.preparedScan().total().bytesCompressed()));
        found.add(String.valueOf(files.length));
        found.add(String.valueOf(size));
        return scala.jdk.javaapi.CollectionConverters.asScala(found);
    }

    private static String text(scala.Option known) {
        return known.isDefined() ? known.get().toString() : "";
    }

    /** The bits of these files' rows in the metadata; known: a KnownFiles. */
    public Object found(ToIntBiFunction known) throws Exception {
        Path root = index.dataPath();
        String above = root.toString().endsWith("/") ? root.toString() : root + "/";
        BitSet bits = new BitSet();
        long[] identity = new long[2];
        positions = new int[files.length];
        for (int at = 0; at < files.length; at++) {
            identity[0] = files[at].size();
            identity[1] = files[at].modificationTime();
            positions[at] = known.applyAsInt(path(files[at].path(), above), identity);
            if (positions[at] >= 0) {
                bits.set(positions[at]);
            }
        }
        return Answers.packed(bits);
    }

    /** The path of a file as Hadoop writes it; the log has parts of URLs, mostly below the table's folder. */
    private String path(String logged, String above) {
        return logged.indexOf('%') < 0 && logged.indexOf(':') < 0 && !logged.startsWith("/")
            ? above + logged
            : index.absolutePath(logged).toString();
    }

    /** The relation without known files whose bits are not set, and with an option that distinguishes it. */
    public LogicalPlan relation(byte[] bits, String option, String value) {
        BitSet chosen = BitSet.valueOf(bits);
        Set left = new HashSet();
        long size = 0;
        for (int at = 0; at < files.length; at++) {
            if (positions[at] >= 0 && !chosen.get(positions[at])) {
                left.add(files[at].path());
            } else {
                size += files[at].size();
            }
        }
        HadoopFsRelation old = (HadoopFsRelation) of.relation();
        HadoopFsRelation made = new HadoopFsRelation(
            new DataSkippingFileIndex(index, left, size, value),
            old.partitionSchema(),
            old.dataSchema(),
            old.bucketSpec(),
            old.fileFormat(),
            (scala.collection.immutable.Map) old.options().updated(option, value),
            old.sparkSession());
        return of.copy(made, of.output(), of.catalogTable(), of.isStreaming(), of.stream());
    }
}

/** Delta's own index of files without some files, otherwise unchanged, deletion vectors too; EXPLAIN shows its name. */
final class DataSkippingFileIndex extends TahoeFileIndexWithSnapshotDescriptor {
    private final PreparedDeltaFileIndex whole;
    private final Set left;
    private final long size;
    private final String mark;
    private scala.collection.immutable.Seq lastOfWhole;
    private scala.collection.immutable.Seq lastKept;

    DataSkippingFileIndex(PreparedDeltaFileIndex whole, Set left, long size, String mark) {
        super(whole.spark(), whole.preparedScan().scannedSnapshot().deltaLog(), whole.path(),
            (SnapshotDescriptor) whole.preparedScan().scannedSnapshot());
        this.whole = whole;
        this.left = left;
        this.size = size;
        this.mark = mark;
    }

    public synchronized scala.collection.immutable.Seq matchingFiles(
            scala.collection.immutable.Seq partitionFilters, scala.collection.immutable.Seq dataFilters) {
        scala.collection.immutable.Seq all = whole.matchingFiles(partitionFilters, dataFilters);
        if (all == lastOfWhole) {
            return lastKept; // Delta answers with the files that it has prepared, at each call.
        }
        List kept = new ArrayList(all.size());
        scala.collection.Iterator each = all.iterator();
        while (each.hasNext()) {
            AddFile file = (AddFile) each.next();
            if (!left.contains(file.path())) {
                kept.add(file);
            }
        }
        lastKept = (scala.collection.immutable.Seq) scala.collection.immutable.ArraySeq$.MODULE$.unsafeWrapArray(
            kept.toArray(new AddFile[0]));
        lastOfWhole = all;
        return lastKept;
    }

    public String[] inputFiles() {
        List found = new ArrayList();
        scala.collection.Iterator each = whole.preparedScan().files().iterator();
        while (each.hasNext()) {
            AddFile file = (AddFile) each.next();
            if (!left.contains(file.path())) {
                found.add(whole.absolutePath(file.path()).toString());
            }
        }
        return (String[]) found.toArray(new String[0]);
    }

    public void refresh() {
        whole.refresh();
    }

    public long sizeInBytes() {
        return size;
    }

    public scala.Option rowIndexFilters() {
        return whole.rowIndexFilters();
    }

    public scala.collection.immutable.Seq rootPaths() {
        return whole.rootPaths();
    }

    public boolean equals(Object other) {
        return other instanceof DataSkippingFileIndex
            && mark.equals(((DataSkippingFileIndex) other).mark)
            && whole.equals(((DataSkippingFileIndex) other).whole);
    }

    public int hashCode() {
        return 31 * whole.hashCode() + mark.hashCode();
    }
}
