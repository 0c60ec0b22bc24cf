"""Declare the messages of a broker that belong to a query but carry no counters, and the dropped-lines note.

Source: `BrokerRequestHandler` of March 2016 to August 2018, `BaseBrokerRequestHandler` of 0.8.0,
`BaseSingleStageBrokerRequestHandler` and `QueryLogger` of 1.4.0, and `QueryScheduler`, whose lines a shared
log file of broker and server holds. The samples of `table_not_found`, of the newer `sql_before_query` and
`unknown_column` and of `server_record` are genuine; the others are shapes with invented values.

The multi-stage engine (`QueryLogger` since August 2023) writes the set of tables as ``[a, b]``. Its lines
with ``entries`` are ordinary query records, of one table or of several together. Its lines without entries,
or without a table, are ``multi_stage`` here (sample: `QueryLogWarmupQuerySourceTest`, query filled in).
"""

from __future__ import annotations

from starskip.pinot.logs.line_template import LineFormat, line_format, message_pattern


def _message(reason: str, template: str, sample: str) -> LineFormat:
    return line_format(reason, template, sample=sample, reason=reason)


OTHER_MESSAGES = (
    _message(
        "sql_before_query",
        "SQL query for request <request_id>: <any_text>",
        "SQL query for request 2067850605000000001: select * from airlineStats limit 10",
    ),
    _message(
        "sql_before_query",
        "Query string for requestId <request_id>: <any_text>",
        "Query string for requestId 7: select * from myTable limit 10",
    ),
    _message(
        "no_entries",
        "ResponseTimes for requestId:<request_id>, <any_text>",
        "ResponseTimes for requestId:7, table:myTable, total time:8, scanned docs:10, total docs:44673408, "
        "scatterGatherStats: {} query: select * from myTable limit 10",
    ),
    _message(
        "table_not_found",
        "Table not found for request <request_id>: <any_text>",
        "Table not found for request 36044: SELECT COUNT(*) FROM airlineStat WHERE Carrier = 'FL'",
    ),
    _message(
        "unknown_column",
        "Caught exception while checking column names in request <request_id>: <any_text>",
        "Caught exception while checking column names in request 36545: SELECT COUNT(*) FROM lineitem "
        "WHERE l_part = 2137, Unknown columnName 'l_part' found in the query",
    ),
    _message(
        "unknown_column",
        "Caught exception while updating column names in request <request_id>: <any_text>",
        "Caught exception while updating column names in request 7: SELECT a FROM t, Unknown columnName 'a'",
    ),
    _message(
        "no_table_matches",
        "No table matches for request <request_id>: <any_text>",
        "No table matches for request 7: SELECT COUNT(*) FROM t",
    ),
    _message(
        "no_server_found",
        "No server found for request <request_id>: <any_text>",
        "No server found for request 7: SELECT COUNT(*) FROM t",
    ),
    _message(
        "refused_by_broker",
        "Caught exception while compiling <words>request <request_id>: <any_text>",
        "Caught exception while compiling SQL request 7: SELEC 1, bad syntax",
    ),
    _message(
        "refused_by_broker",
        "Caught exception while validating request <request_id>: <any_text>",
        "Caught exception while validating request 7: SELECT a FROM t LIMIT 9999999, too many rows",
    ),
    _message(
        "refused_by_broker",
        "Caught exception while handling the subquery in request <request_id>: <any_text>",
        "Caught exception while handling the subquery in request 7: SELECT a FROM t, bad id set",
    ),
    _message(
        "refused_by_broker",
        "Parsing error on requestId <request_id>: <any_text>",
        "Parsing error on requestId 7: selec 1, bad syntax",
    ),
    _message(
        "refused_by_broker",
        "Validation error on requestId <request_id>: <any_text>",
        "Validation error on requestId 7: select a from t limit 9999999, too many rows",
    ),
    _message(
        "access_denied",
        "Access denied for request<words> <request_id><any_text>",
        "Access denied for request 7: SELECT a FROM t, table: t",
    ),
    _message(
        "quota_exceeded",
        "Request <request_id>: <any_text>",
        "Request 7: SELECT a FROM t exceeds query quota for table: t",
    ),
    _message(
        "quota_exceeded",
        "Request <request_id> exceeds query quota <any_text>",
        "Request 7 exceeds query quota for table: t",
    ),
    _message(
        "timed_out_in_broker",
        "Query timed out <any_text>",
        "Query timed out (time spent: 10001ms, timeout: 10000ms) for table: t before scattering the "
        "request 7: SELECT a FROM t",
    ),
    _message(
        "logs_dropped",
        "<number> logs were dropped<any_text>",
        "42 logs were dropped. (log max rate per second: 10000.0)",
    ),
    _message(
        "server_record",
        "Processed requestId=<request_id>,table=<any_text>",
        "Processed requestId=192,table=test_OFFLINE,Segments(Queried/processed/matched)=2/2/2,"
        "schedulerWait=2,totalExecMs=360,totalTimeMs=362,broker=Broker_localhost_8099,numDocsScanned=11672398,"
        "scanInFilter=15593300,scanPostFilter=2,sched=fcfs",
    ),
    LineFormat(
        name="multi_stage",
        sample=(
            "requestId=3,table=[tableA, tableB],queryHash=h3,timeMs=30,docs=1/2,exceptions=0,query=SELECT 1"
        ),
        pattern=message_pattern(
            rb"requestId=(?P<request_id>-?\d{1,19}+),table="
            rb"(?:\[\]|\[[^\],]*+(?>(?:,[^\],]*+)+)\](?!(?:(?!,query=).)*,entries=-?\d)),.*"
        ),
        opening=rb"requestId=(?:-?\d{1,19}+),table=",
        reason="multi_stage",
    ),
)
