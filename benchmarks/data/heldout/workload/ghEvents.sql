-- @template G01 weight=1.6208
select "type", count(*) as n from ghEvents where "user" = {{user}} group by "type" order by n desc limit 20
-- @template G02 weight=1.9193
select count(*) from ghEvents where repo_name = {{repo_name}} and type = {{type}}
-- @template G03 weight=2.7189
select type, count(*) from ghEvents where repo_id in ({{repo_id:in3}}) and type <> 'WatchEvent' group by type
-- @template G04 weight=10.6338
select user, sum(size) as commits from ghEvents where type = 'PushEvent' and org_login = {{org_login}} and is_bot = false group by user order by commits desc limit 15
-- @template G05 weight=3.1924
select count(*) from ghEvents where words = {{words}} and type = {{type}}
-- @template G06 weight=2.1215
select valuein(words, 'fix', 'bug', 'update') w, count(*) c from ghEvents where words in ('fix', 'bug', 'update') group by valuein(words, 'fix', 'bug', 'update') order by c desc
-- @template G07 weight=6.1075
select count(*) from ghEvents where ref = {{ref}} and minute between {{minute:plus5}}
-- @template G08 weight=2.3788
select datetrunc('MINUTE', created_ms) as m, count(*) from ghEvents where created_ms >= {{created_ms:num}} and created_ms < 1514805600000 and type in ({{type:in3}}) group by m order by m limit 60
-- @template G09 weight=2.5361
select count(*) from ghEvents where user_id = {{user_id}}
-- @template G10 weight=7.6880
select count(*), max(payload_bytes) from ghEvents where (type = {{type}} or action = {{action}}) and minute = {{minute}}
-- @template G11 weight=18.5145
select repo_name, count(*) from ghEvents where action = {{action}} and type not in ('WatchEvent', 'ForkEvent') group by repo_name order by count(*) desc, repo_name limit 10
-- @template G12 weight=2.9344
select user, repo_name, title from ghEvents where type = {{type}} and is_bot = true limit 12
-- @template G13 weight=3.9033
select count(*) from ghEvents where user in ({{user:in60}})
-- @template G14 weight=3.5078
select count(*) from ghEvents where authors = {{authors}} or user = {{user}}
-- @template G15 weight=1.4098
select distinct repo_owner from ghEvents where ref_type = {{ref_type}} and minute >= 3 limit 500
-- @template G16 weight=1.7559
select count(*) from ghEvents where title like 'Update%' and words <> 'readme' and is_bot = false
-- @template G17 weight=1.5071
select avg(payload_bytes) from ghEvents where payload_bytes >= {{payload_bytes}} and type = {{type}} and ref = {{ref}}
-- @template G18 weight=1.3663
select count(*) from ghEvents where not (type = 'PushEvent' or ref_type = {{ref_type}}) and org_login <> 'none'
-- @template G19 weight=1.2876
select type, org_login, count(*) from ghEvents where repo_owner = {{repo_owner}} and ref in ({{ref:in2}}, 'refs/heads/master') group by type, org_login limit 50
-- @template G20 weight=1.3256
select count(*) from ghEvents where event_id between {{event_id:plus2000}} and type = 'PushEvent'
-- @template G21 weight=2.2419
select count(*) from ghEvents where event_id = {{event_id}}
-- @template G22 weight=5.1090
select "user", "title" from "ghEvents" where "minute" = {{minute}} and "type" = {{type}} order by "event_id" desc limit 10
-- @template G23 weight=1.2520
select count(*) from ghEvents where in_subquery(repo_id, 'select idset(repo_id) from ghEvents where type = ''ReleaseEvent''') = 1 and type = {{type}}
-- @template G24 weight=1.5616
select case when size > 1 then 'many' else 'few' end as k, count(*) as n from ghEvents
where type = 'PushEvent'   -- pushes only
  and distinct_size in ({{distinct_size:in2}})
  and org_login = {{org_login}}
group by k
-- @template G25 weight=1.4566
select repo_id, ref from ghEvents where org_login = {{org_login}} and ref_type = {{ref_type}} limit 10, 10
-- @template G26 weight=1.6853
select countmv(words) from ghEvents where arraylength(words) > 3 and action = {{action}}
-- @template G27 weight=4.4156
select count(*) from ghEvents where (user = {{user}} and ref = {{ref}}) or (repo_owner = {{repo_owner}} and action = {{action}}) or (org_login = {{org_login}} and minute < 4)
-- @template G28 weight=2.0147
select count(*) from ghEvents where regexp_like(ref, '^refs/heads/(dev|feature)') and lower(type) = 'pushevent' and user != {{user}}
-- @template G29 weight=1.8336
select percentiletdigest(payload_bytes, 95) from ghEvents where words in ({{words:in12}}) and action = {{action}} and ref_type = {{ref_type}}
-- @template GF1 weight=0.3000 fail
select count(*) from ghEvents where login = {{user}}
-- @template GF2 weight=0.3000 fail
select count(*) from ghEvents where json_match(title, '"$.a" = {{user_id}}') and type = {{type}}
-- @template GF3 weight=0.3000 fail
select sum(ref) from ghEvents where type = {{type}}
-- @template GF4 weight=0.3000 fail
select count(*) from ghevents where type = {{type}}
-- @template GF5 weight=0.3000 fail
select count(*) from ghEvents where created_ms > ago('P1X') and type = {{type}}
