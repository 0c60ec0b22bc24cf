package starskip;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TimeZone;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.datasources.FileIndex;
import org.apache.spark.sql.execution.datasources.HadoopFsRelation;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.execution.datasources.LogicalRelation;
import org.apache.spark.sql.internal.SQLConf;

/** What Python asks of a plan's relations of files, in one answer each: a call takes 50 microseconds or more. */
public final class RelationFacts {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The plan as the JSON document that it writes of itself. */
    public String document(LogicalPlan plan) throws Exception {
        return packed(plan.toJSON());
    }

    /** The texts of all values of a set. */
    public String joined(scala.collection.immutable.Set values, String between) throws Exception {
        return packed(values.mkString(between));
    }

    /** A JSON array with an object for each leaf of a plan, null for what is no relation of files to look at. */
    public String leaves(LogicalPlan plan, String mark, String settings, int rootsAskedEach) throws Exception {
        scala.collection.immutable.Seq leaves = plan.collectLeaves();
        IdentityHashMap first = new IdentityHashMap();
        List found = new ArrayList();
        for (int at = 0; at < leaves.size(); at++) {
            Object leaf = leaves.apply(at);
            HadoopFsRelation relation = relation(leaf);
            if (relation == null || relation.options().contains(mark)) {
                found.add(null);
                continue;
            }
            Object before = first.putIfAbsent(leaf, Integer.valueOf(at));
            FileIndex location = relation.location();
            Map facts = new LinkedHashMap();
            facts.put("first", before == null ? Integer.valueOf(at) : before);
            facts.put("kind", location.getClass().getName());
            facts.put("roots", roots(location));
            facts.put("files", files(location, rootsAskedEach));
            facts.put("options", options(relation));
            facts.put("settings", settings(conf(relation), settings));
            found.add(facts);
        }
        return packed(JSON.writeValueAsString(found));
    }

    /** A JSON object of all that may change what a relation's bytes mean. */
    public String fingerprint(HadoopFsRelation relation, String settings) throws Exception {
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
        facts.put("zone", conf.sessionLocalTimeZone());
        facts.put("zone_of_jvm", TimeZone.getDefault().getID());
        return packed(JSON.writeValueAsString(facts));
    }

    /** py4j sends more than 8 KiB in two pieces, the second one after 40 ms (Nagle): so long texts go deflated. */
    private static String packed(String text) throws Exception {
        ByteArrayOutputStream made = new ByteArrayOutputStream();
        DeflaterOutputStream deflated = new DeflaterOutputStream(made, new Deflater(Deflater.BEST_SPEED));
        deflated.write(text.getBytes(StandardCharsets.UTF_8));
        deflated.close();
        return Base64.getEncoder().encodeToString(made.toByteArray());
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

    /** Which of the roots, if they are few, are files. */
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

    private static Map settings(SQLConf conf, String names) {
        Map found = new LinkedHashMap();
        String[] each = names.split("\n");
        for (int at = 0; at < each.length; at++) {
            try {
                found.put(each[at], conf.getConfString(each[at]));
            } catch (NoSuchElementException unset) {
                continue;
            }
        }
        return found;
    }
}
