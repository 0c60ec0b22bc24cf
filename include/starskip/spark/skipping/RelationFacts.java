package starskip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.TimeZone;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;
import org.apache.spark.sql.catalyst.catalog.HiveTableRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.command.TruncateTableCommand;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.InsertIntoHadoopFsRelationCommand;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.execution.datasources.PartitionPath;
import org.apache.spark.sql.execution.datasources.PartitioningUtils;
import org.apache.spark.sql.execution.datasources.TextBasedFileFormat;
import org.apache.spark.sql.execution.datasources.orc.OrcFileFormat;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation;
import org.apache.spark.sql.execution.datasources.v2.FileTable;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Facts on a plan's relations of files, each fetched by one call, since a call takes 50 microseconds or more. */
public final class RelationFacts {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String OURS = "spark.starskip.";
    private static final String ICEBERG_SCAN = "org.apache.iceberg.spark.source.SparkBatchQueryScan";
    private static final String ICEBERG_TABLE = "org.apache.iceberg.spark.source.SparkTable";

    /** The plan as JSON. */
    public Object document(LogicalPlan plan) throws Exception {
        return Answers.packed(plan.toJSON());
    }

    /** The texts of all values, joined. */
    public Object joined(scala.collection.Iterable values, String between) throws Exception {
        return Answers.packed(values.mkString(between));
    }

    /**
     * A JSON object: "leaves" has an object for each leaf of a plan, null for a leaf that is no relation; a relation
     * that skipping does not reach has "other", its kind, instead. "emptied" is the folder that the plan removes, null if none.
     */
    public Object leaves(LogicalPlan plan, String mark, String settings, int rootsAskedEach) throws Exception {
        scala.collection.immutable.Seq leaves = plan.collectLeaves();
        IdentityHashMap first = new IdentityHashMap();
        List found = new ArrayList();
        for (int at = 0; at < leaves.size(); at++) {
            Object leaf = leaves.apply(at);
            HadoopFsRelation relation = relation(leaf);
            if (relation == null && !isOfIceberg(leaf)) {
                found.add(other(leaf));
                continue;
            }
            if (relation == null ? isMarked(leaf, mark) : relation.options().contains(mark)) {
                found.add(null);
                continue;
            }
            Object before = first.putIfAbsent(leaf, Integer.valueOf(at));
            Map facts = new LinkedHashMap();
            facts.put("first", before == null ? Integer.valueOf(at) : before);
            if (relation == null) {
                facts.putAll(ofIceberg(leaf, settings));
                found.add(facts);
                continue;
            }
            FileIndex location = relation.location();
            facts.put("kind", location.getClass().getName());
            facts.put("roots", roots(location));
            facts.put("files", files(location, rootsAskedEach));
            facts.put("options", options(relation));
            facts.put("settings", settings(conf(relation), settings));
            facts.put("open_bytes", Long.valueOf(conf(relation).filesOpenCostInBytes()));
            found.add(facts);
        }
        Map facts = new LinkedHashMap();
        facts.put("leaves", found);
        facts.put("emptied", emptied(plan));
        return Answers.packed(JSON.writeValueAsString(facts));
    }

    /** The folder whose files a command removes, all of them or some, before it writes others; null if none. */
    public String emptied(LogicalPlan plan) throws Exception {
        if (plan instanceof InsertIntoHadoopFsRelationCommand) {
            InsertIntoHadoopFsRelationCommand insert = (InsertIntoHadoopFsRelationCommand) plan;
            return insert.mode() == SaveMode.Overwrite ? insert.outputPath().toString() : null;
        }
        if (plan instanceof TruncateTableCommand) {
            return new Path(SparkSession.active().sessionState().catalog()
                .getTableMetadata(((TruncateTableCommand) plan).tableName()).location()).toString();
        }
        return null;
    }

    /** A JSON object of the facts for the read signature; asking: null for the conf of the active session. */
    public Object signature(HadoopFsRelation relation, String settings, SQLConf asking) throws Exception {
        SQLConf conf = conf(relation);
        Map facts = new LinkedHashMap();
        facts.put("format", relation.fileFormat().getClass().getSimpleName());
        facts.put("schema", relation.dataSchema().json());
        facts.put("partitions", relation.partitionSchema().isEmpty() ? null : relation.partitionSchema().json());
        facts.put("overlap", relation.overlappedPartCols().isEmpty()
            ? null
            : relation.overlappedPartCols().keySet().toString());
        facts.put("options", options(relation));
        facts.put("settings", settings(conf, settings));
        facts.put("asking", settings(asking == null ? SQLConf.get() : asking, settings));
        facts.put("positional", ofHadoop(relation, OrcFileFormat.class, "orc.force.positional.evolution"));
        facts.put("longest_line", ofHadoop(relation, TextBasedFileFormat.class, LineRecordReader.MAX_LINE_LENGTH));
        facts.put("defaults", defaults(relation.dataSchema()));
        facts.put("zone", conf.sessionLocalTimeZone());
        facts.put("zone_of_jvm", TimeZone.getDefault().getID());
        return Answers.packed(JSON.writeValueAsString(facts));
    }

    /** Whether the folder of each partition that a catalog lists is named after the partition's values. */
    public boolean areNamed(HadoopFsRelation relation, InMemoryFileIndex listed) {
        StructField[] columns = listed.partitionSpec().partitionColumns().fields();
        ZoneId zone = DateTimeUtils.getZoneId(conf(relation).sessionLocalTimeZone());
        scala.collection.Iterator partitions = listed.partitionSpec().partitions().iterator();
        while (partitions.hasNext()) {
            PartitionPath partition = (PartitionPath) partitions.next();
            Path folder = partition.path();
            for (int at = columns.length - 1; at >= 0; at--) {
                Object value = partition.values().get(at, columns[at].dataType());
                if (folder == null || !isNamed(folder.getName(), columns[at], value, zone)) {
                    return false;
                }
                folder = folder.getParent();
            }
        }
        return true;
    }

    private static boolean isNamed(String folder, StructField column, Object value, ZoneId zone) {
        int equals = folder.indexOf('=');
        if (equals < 0
            || !ExternalCatalogUtils.unescapePathName(folder.substring(0, equals)).equalsIgnoreCase(column.name())) {
            return false;
        }
        try {
            String text = folder.substring(equals + 1);
            return Objects.equals(value, PartitioningUtils.castPartValueToDesiredType(column.dataType(), text, zone));
        } catch (RuntimeException noValueOfThatType) {
            return false;
        }
    }

    private static Map other(Object leaf) {
        Map facts = new LinkedHashMap();
        facts.put("name", "");
        if (leaf instanceof LogicalRelation) {
            Object relation = ((LogicalRelation) leaf).relation();
            facts.put("other", ((LogicalRelation) leaf).isStreaming() ? "stream" : "source");
            if (relation instanceof HadoopFsRelation) {
                facts.put("name", String.valueOf(roots(((HadoopFsRelation) relation).location()).get(0)));
            } else {
                facts.put("name", relation.toString());
            }
        } else if (leaf instanceof DataSourceV2Relation || leaf instanceof DataSourceV2ScanRelation) {
            Object table = leaf instanceof DataSourceV2Relation
                ? ((DataSourceV2Relation) leaf).table()
                : ((DataSourceV2ScanRelation) leaf).relation().table();
            facts.put("other", kindOfV2((Table) table));
            facts.put("name", ((Table) table).name());
            if (table instanceof FileTable) {
                FileIndex index = ((FileTable) table).fileIndex();
                facts.put("name", String.valueOf(roots(index).get(0)));
                facts.put("files", Integer.valueOf(index.inputFiles().length));
                facts.put("bytes", Long.valueOf(index.sizeInBytes()));
            }
        } else if (leaf instanceof InMemoryRelation) {
            facts.put("other", "cache");
            scala.Option name = ((InMemoryRelation) leaf).cacheBuilder().tableName();
            facts.put("name", name.isDefined() ? name.get().toString() : "cache");
        } else if (leaf instanceof HiveTableRelation) {
            facts.put("other", "hive");
            facts.put("name", ((HiveTableRelation) leaf).tableMeta().identifier().unquotedString());
        } else if (leaf instanceof LogicalPlan && ((LogicalPlan) leaf).isStreaming()) {
            facts.put("other", "stream");
            facts.put("name", ((LogicalPlan) leaf).simpleString(1));
        } else {
            return null;
        }
        return facts;
    }

    private static String kindOfV2(Table table) {
        if (table instanceof RowLevelOperationTable) {
            return "changed";
        }
        return table.getClass().getName().startsWith("io.delta.") ? "delta_v2" : "v2";
    }

    /** Returns whether it is an Iceberg table or a scan of one, and not one by which a command finds the rows that it changes. */
    private static boolean isOfIceberg(Object leaf) {
        if (leaf instanceof DataSourceV2ScanRelation) {
            return ((DataSourceV2ScanRelation) leaf).scan().getClass().getName().equals(ICEBERG_SCAN)
                && !(((DataSourceV2ScanRelation) leaf).relation().table() instanceof RowLevelOperationTable);
        }
        return leaf instanceof DataSourceV2Relation
            && ((DataSourceV2Relation) leaf).table().getClass().getName().equals(ICEBERG_TABLE);
    }

    private static boolean isMarked(Object leaf, String mark) {
        return leaf instanceof DataSourceV2ScanRelation
            && ((DataSourceV2ScanRelation) leaf).scan().description().contains(mark);
    }

    private static Map ofIceberg(Object leaf, String settings) throws Exception {
        boolean isScan = leaf instanceof DataSourceV2ScanRelation;
        Object table = isScan
            ? ((DataSourceV2ScanRelation) leaf).relation().table()
            : ((DataSourceV2Relation) leaf).table();
        Object inner = table.getClass().getMethod("table", new Class[0]).invoke(table, new Object[0]);
        Object location = inner.getClass().getMethod("location", new Class[0]).invoke(inner, new Object[0]);
        Map facts = new LinkedHashMap();
        facts.put("kind", isScan ? ICEBERG_SCAN : ICEBERG_TABLE);
        facts.put("roots", Arrays.asList(new Object[] {location}));
        facts.put("files", new ArrayList());
        facts.put("options", new LinkedHashMap());
        facts.put("settings", settings(SQLConf.get(), settings));
        return facts;
    }

    private static HadoopFsRelation relation(Object leaf) {
        if (!(leaf instanceof LogicalRelation) || ((LogicalRelation) leaf).isStreaming()) {
            return null;
        }
        Object relation = ((LogicalRelation) leaf).relation();
        return relation instanceof HadoopFsRelation ? (HadoopFsRelation) relation : null;
    }

    private static SQLConf conf(HadoopFsRelation relation) {
        return ((org.apache.spark.sql.classic.SparkSession) relation.sparkSession()).sessionState().conf();
    }

    private static List roots(FileIndex location) {
        List found = new ArrayList();
        for (int at = 0; at < location.rootPaths().size(); at++) {
            found.add(location.rootPaths().apply(at).toString());
        }
        return found;
    }

    /** The roots that are files, if there are few roots. */
    private static List files(FileIndex location, int rootsAskedEach) {
        List found = new ArrayList();
        if (location.getClass() == InMemoryFileIndex.class && location.rootPaths().size() <= rootsAskedEach) {
            for (int at = 0; at < location.rootPaths().size(); at++) {
                Object root = location.rootPaths().apply(at);
                if (((InMemoryFileIndex) location).leafFiles().contains(root)) {
                    found.add(root.toString());
                }
            }
        }
        return found;
    }

    private static Map options(HadoopFsRelation relation) {
        Map found = new LinkedHashMap();
        Iterator entries = scala.jdk.javaapi.CollectionConverters.asJava(relation.options()).entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            found.put(String.valueOf(entry.getKey()), String.valueOf(entry.getValue()));
        }
        return found;
    }

    /** The settings that a format reads from Hadoop's configuration, which includes options. */
    private static String ofHadoop(HadoopFsRelation relation, Class format, String name) {
        return format.isInstance(relation.fileFormat())
            ? ((org.apache.spark.sql.classic.SparkSession) relation.sparkSession()).sessionState()
                .newHadoopConfWithOptions(relation.options()).get(name)
            : null;
    }

    /** The defaults of columns that were added later, as the session evaluates them. */
    private static String defaults(StructType schema) {
        for (int at = 0; at < schema.length(); at++) {
            if (schema.apply(at).metadata().contains("EXISTS_DEFAULT")) {
                return Arrays.toString(ResolveDefaultColumns.existenceDefaultValues(schema));
            }
        }
        return null;
    }

    private static Map settings(SQLConf conf, String names) {
        Map found = new LinkedHashMap();
        String[] each = names.split("\n");
        for (int at = 0; at < each.length; at++) {
            if (each[at].startsWith(OURS) && !conf.contains(each[at])) {
                continue; // It has no default, as Spark's own settings have: an exception for each would take longer.
            }
            try {
                found.put(each[at], conf.getConfString(each[at]));
            } catch (NoSuchElementException unset) {
                continue;
            }
        }
        return found;
    }
}
