package starskip;

import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;

/** Hands on to Python what Spark tells of queries, until Python has gone: a program may end without spark.stop(). */
public final class ListenerUntilExit implements QueryExecutionListener {
    private volatile QueryExecutionListener python;

    /** Calls Python's listener from now on, or nothing any more if that is null. */
    public void handOnTo(QueryExecutionListener listener) {
        python = listener;
    }

    public void onSuccess(String name, QueryExecution execution, long durationNs) {
        QueryExecutionListener now = python;
        if (now != null) {
            try {
                now.onSuccess(name, execution, durationNs);
            } catch (RuntimeException pythonHasGone) {
                python = null; // what Python's own code raises it has caught itself
            }
        }
    }

    public void onFailure(String name, QueryExecution execution, Exception error) {
        QueryExecutionListener now = python;
        if (now != null) {
            try {
                now.onFailure(name, execution, error);
            } catch (RuntimeException pythonHasGone) {
                python = null;
            }
        }
    }
}
