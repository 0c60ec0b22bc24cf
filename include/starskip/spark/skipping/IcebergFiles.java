package starskip;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.ToIntBiFunction;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ContentScanTask;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.UnboundPredicate;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;

/**
 * The files that Iceberg has chosen for a scan by its manifests, which stay in the JVM: Python asks for their rows in
 * its metadata, and passes a mask over these rows with the files to read. A task of the scan is a data file with the
 * delete files that belong to it. Iceberg's classes are reached by reflection.
 */
public final class IcebergFiles {
    private static final long ADDED_BELOW = 1L << 40;
    private final DataSourceV2ScanRelation of;
    private final Object scan;
    private final List tasks;
    private final BitSet specs = new BitSet();
    private int[] positions;
    private Map writers;

    /** given: a DataSourceV2ScanRelation, or the scan of a plan that has run. */
    public IcebergFiles(Object given) throws Exception {
        this.of = given instanceof DataSourceV2ScanRelation ? (DataSourceV2ScanRelation) given : null;
        this.scan = of == null ? given : of.scan();
        this.tasks = isOfFiles() ? (List) call("tasks") : new ArrayList();
    }

    /** Returns whether it is a scan of a table's files, not of its metadata. */
    public boolean isOfFiles() throws Exception {
        return !(value("table") instanceof BaseMetadataTable);
    }

    /** The table's folder, its schema in JSON, files and bytes of the snapshot, files and bytes of the scan. */
    public scala.collection.Iterable facts() throws Exception {
        Snapshot snapshot = snapshot();
        boolean isKnown = isOfFiles() && snapshot != null && snapshot.summary() != null;
        Map summary = isKnown ? snapshot.summary() : new HashMap();
        List found = new ArrayList();
        found.add(((Table) value("table")).location());
        found.add(SchemaParser.toJson(schema(snapshot)));
        found.add(summary.containsKey("total-data-files") ? (String) summary.get("total-data-files") : "");
        found.add(summary.containsKey("total-data-files") ? bytes(summary) : "");
        found.add(String.valueOf(tasks.size()));
        found.add(String.valueOf(size()));
        return scala.jdk.javaapi.CollectionConverters.asScala(found);
    }

    /** The snapshot that is read, null if there is none or, before Iceberg 1.12, for a scan of appended files. */
    private Snapshot snapshot() throws Exception {
        if (fieldOrNull("snapshot") != null) {
            return (Snapshot) value("snapshot");
        }
        return value("scan") instanceof BatchScan ? ((BatchScan) value("scan")).snapshot() : null;
    }

    /** The table's schema, or the older version's; before Iceberg 1.12 a scan has only the columns that it reads. */
    private Schema schema(Snapshot snapshot) throws Exception {
        if (fieldOrNull("schema") != null) {
            return (Schema) value("schema");
        }
        Table table = (Table) value("table");
        boolean isOlder = value("snapshotId") != null || value("asOfTimestamp") != null || value("tag") != null;
        return isOlder && snapshot != null ? SnapshotUtil.schemaFor(table, snapshot.snapshotId()) : table.schema();
    }

    /** The name of the field with the filters that are known when the query runs; its former one ended with 1.11. */
    private String runtimeFilters() {
        return fieldOrNull("runtimeFilters") != null ? "runtimeFilters" : "runtimeFilterExpressions";
    }

    /** The bytes of a snapshot's data files, if it has no delete files, which its summary counts with them. */
    private static String bytes(Map summary) {
        Object deletes = summary.get("total-delete-files");
        Object size = summary.get("total-files-size");
        return size != null && (deletes == null || "0".equals(deletes)) ? (String) size : "";
    }

    /** The mark of a scan without some of its files, else an empty text; its folder; its files and bytes. */
    public List read(String option) throws Exception {
        List found = new ArrayList();
        found.add("");
        List filters = (List) value(runtimeFilters());
        for (int at = 0; at < filters.size(); at++) {
            UnboundPredicate filter = filters.get(at) instanceof UnboundPredicate
                ? (UnboundPredicate) filters.get(at)
                : null;
            if (filter != null && filter.ref().name().equals(option)) {
                found.set(0, filter.literal().value().toString());
            }
        }
        found.add(((Table) value("table")).location());
        found.add(String.valueOf(tasks.size()));
        found.add(String.valueOf(size()));
        return found;
    }

    private long size() {
        long size = 0;
        for (int at = 0; at < tasks.size(); at++) {
            size += file(at).fileSizeInBytes();
        }
        return size;
    }

    private ContentFile file(int at) {
        return ((ContentScanTask) tasks.get(at)).file();
    }

    /** The bits of these files' rows in the metadata; known: a KnownFiles. */
    public Object found(ToIntBiFunction known) throws Exception {
        BitSet bits = new BitSet();
        long[] identity = new long[2];
        positions = new int[tasks.size()];
        long table = ((Table) value("table")).uuid().getLeastSignificantBits();
        for (int at = 0; at < positions.length; at++) {
            ContentFile file = file(at);
            specs.set(file.specId());
            identity[0] = file.fileSizeInBytes();
            identity[1] = added(file, table);
            positions[at] = file.format() == FileFormat.PARQUET
                ? known.applyAsInt(file.location(), identity)
                : -1;
            if (positions[at] >= 0) {
                bits.set(positions[at]);
            }
        }
        return Answers.packed(bits);
    }

    /** The number of the commit that added a file, as in iceberg_manifests.py; -1 if it is not known. */
    private long added(ContentFile file, long table) throws Exception {
        Long number = file.fileSequenceNumber();
        if (number != null && number.longValue() == 0) {
            number = (Long) writers().get(file.manifestLocation());
        }
        return number == null ? -1 : (number.longValue() + table) & (ADDED_BELOW - 1);
    }

    /** The ids of the snapshots that wrote the manifests of data files, by the manifests' places. */
    private Map writers() throws Exception {
        if (writers == null) {
            writers = new HashMap();
            Snapshot snapshot = snapshot();
            Table table = (Table) value("table");
            List manifests = snapshot == null ? new ArrayList() : snapshot.dataManifests(table.io());
            for (int at = 0; at < manifests.size(); at++) {
                ManifestFile manifest = (ManifestFile) manifests.get(at);
                writers.put(manifest.path(), manifest.snapshotId());
            }
        }
        return writers;
    }

    /** The relation with a copy of the scan without known files whose bits are not set; the scan itself stays. */
    public LogicalPlan relation(byte[] bits, String option, String value) throws Exception {
        BitSet chosen = BitSet.valueOf(bits);
        List kept = new ArrayList();
        for (int at = 0; at < positions.length; at++) {
            if (positions[at] < 0 || chosen.get(positions[at])) {
                kept.add(tasks.get(at));
            }
        }
        // The grouping of partitions follows from the partition specs of all files: found before some are left out.
        findSpecs();
        call("groupingKeyType");
        Object made = copy(scan);
        List filters = new ArrayList((List) value(runtimeFilters()));
        // Scans are compared by their filters, and exchanges of equal ones are shared.
        filters.add(Expressions.equal(option, value));
        field(runtimeFilters()).set(made, filters);
        field("tasks").set(made, kept);
        field("taskGroups").set(made, null);
        return of.copy(of.relation(), (Scan) made, of.output(), of.keyGroupedPartitioning(), of.ordering());
    }

    /** The result of the scan's own specs(), which would read the specification of each task from JSON. */
    private void findSpecs() throws Exception {
        if (value("specs") == null) {
            Map known = ((Table) value("table")).specs();
            Set found = new HashSet();
            for (int id = specs.nextSetBit(0); id >= 0; id = specs.nextSetBit(id + 1)) {
                found.add(known.get(Integer.valueOf(id)));
            }
            field("specs").set(scan, found);
        }
    }

    private static Object copy(Object old) throws Exception {
        Field unsafe = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        unsafe.setAccessible(true);
        Object made = ((sun.misc.Unsafe) unsafe.get(null)).allocateInstance(old.getClass());
        for (Class of = old.getClass(); of != Object.class; of = of.getSuperclass()) {
            Field[] fields = of.getDeclaredFields();
            for (int at = 0; at < fields.length; at++) {
                if (!Modifier.isStatic(fields[at].getModifiers())) {
                    fields[at].setAccessible(true);
                    fields[at].set(made, fields[at].get(old));
                }
            }
        }
        return made;
    }

    private Object value(String name) throws Exception {
        return field(name).get(scan);
    }

    private Field field(String name) throws Exception {
        Field found = fieldOrNull(name);
        if (found == null) {
            throw new NoSuchFieldException(scan.getClass().getName() + " has no field " + name);
        }
        return found;
    }

    private Field fieldOrNull(String name) {
        for (Class in = scan.getClass(); in != Object.class; in = in.getSuperclass()) {
            Field[] fields = in.getDeclaredFields();
            for (int at = 0; at < fields.length; at++) {
                if (fields[at].getName().equals(name)) {
                    fields[at].setAccessible(true);
                    return fields[at];
                }
            }
        }
        return null;
    }

    private Object call(String name) throws Exception {
        for (Class in = scan.getClass(); in != Object.class; in = in.getSuperclass()) {
            Method[] methods = in.getDeclaredMethods();
            for (int at = 0; at < methods.length; at++) {
                if (methods[at].getName().equals(name) && methods[at].getParameterCount() == 0) {
                    methods[at].setAccessible(true);
                    return methods[at].invoke(scan, new Object[0]);
                }
            }
        }
        throw new NoSuchMethodException(scan.getClass().getName() + " has no method " + name);
    }
}
