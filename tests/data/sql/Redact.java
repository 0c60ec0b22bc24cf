import java.io.*; import java.util.*;
import org.apache.calcite.sql.*; import org.apache.calcite.sql.dialect.AnsiSqlDialect; import org.apache.calcite.sql.fun.SqlCase;
import org.apache.calcite.sql.type.SqlTypeName; import org.apache.calcite.sql.util.SqlShuttle;
import org.apache.pinot.sql.parsers.CalciteSqlParser;
/**
 * Writes query texts as a broker with sqlRedaction=literal_values logs them, by Pinot's own parser: a question mark for
 * each literal and for each list of an IN. One text a line in (\\n for a newline), one out. redacted.json was written so:
 *
 *   java -cp 'folder of the jars of Pinot 0.11/*' Redact.java < texts > redacted
 */
public class Redact extends SqlShuttle {
  int n = 0;
  static boolean kept(SqlLiteral l) { return l.getTypeName() == SqlTypeName.SYMBOL || l.getTypeName() == SqlTypeName.NULL; }
  @Override public SqlNode visit(SqlLiteral l) { return kept(l) ? l : new SqlDynamicParam(n++, l.getParserPosition()); }
  SqlNode rebuilt(SqlCall c, java.util.function.IntPredicate keep) {
    List<SqlNode> in = c.getOperandList(); SqlNode[] out = new SqlNode[in.size()];
    for (int i = 0; i < out.length; i++) out[i] = in.get(i) == null || keep.test(i) ? in.get(i) : in.get(i).accept(this);
    return c.getOperator().createCall(c.getFunctionQuantifier(), c.getParserPosition(), out);
  }
  @Override public SqlNode visit(SqlCall c) {
    switch (c.getKind()) {
      case SELECT: return rebuilt(c, i -> i == 10);
      case JOIN: return rebuilt(c, i -> i == 1 || i == 2 || i == 4);
      case OVER: return rebuilt(c, i -> i == 1);
      case CASE: return rebuilt(c, i -> false);
      case EXPLAIN: return c.getOperandList().get(0).accept(this);
      case ORDER_BY: { SqlOrderBy o = (SqlOrderBy) c;
        return new SqlOrderBy(o.getParserPosition(), o.query.accept(this), o.orderList,
          o.offset == null ? null : o.offset.accept(this), o.fetch == null ? null : o.fetch.accept(this)); }
      case IN: case NOT_IN: {
        if (c.operand(1) instanceof SqlNodeList) { SqlNodeList l = (SqlNodeList) c.operand(1);
          boolean all = l.size() > 0; for (SqlNode x : l) all &= x instanceof SqlLiteral && !kept((SqlLiteral) x);
          SqlNode left = ((SqlNode) c.operand(0)).accept(this);
          List<SqlNode> vs = new ArrayList<>();
          if (all) vs.add(new SqlDynamicParam(n++, c.getParserPosition())); else for (SqlNode x : l) vs.add(x.accept(this));
          return c.getOperator().createCall(c.getParserPosition(), left, new SqlNodeList(vs, l.getParserPosition())); }
        return rebuilt(c, i -> false); }
      default: return super.visit(c);
    }
  }
  public static void main(String[] a) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8")); PrintStream out = new PrintStream(System.out, true, "UTF-8"); String line;
    while ((line = in.readLine()) != null) {
      String sql = line.replace("\\n", "\n"); String text;
      try { SqlNode node = CalciteSqlParser.compileToSqlNodeAndOptions(sql).getSqlNode().accept(new Redact());
        text = node.toSqlString(c -> c.withDialect(AnsiSqlDialect.DEFAULT)).getSql().replaceAll("\\s+", " ").trim();
      } catch (Throwable e) { text = "FINGERPRINT_FAILED_QUERY_REDACTED"; if (a.length > 0) System.err.println(e); }
      out.println(text);
    }
  }
}
