package starskip;

import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.util.QueryExecutionListener;

/** Forwards Spark's query events to Python until Python exits: a program may end without spark.stop(). */
public final class ListenerUntilExit implements QueryExecutionListener {
    private volatile QueryExecutionListener python;

    /** Forward events to Python's listener from now on, or to none if that is null. */
    public void handOnTo(QueryExecutionListener listener) {
        python = listener;
    }

    public void onSuccess(String name, QueryExecution execution, long durationNs) {
        QueryExecutionListener now = python;
        if (now != null) {
            try {
                now.onSuccess(name, execution, durationNs);
            } catch (RuntimeException pythonHasGone) {
                python = null; // Python is gone: it catches the exceptions of its own code
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
