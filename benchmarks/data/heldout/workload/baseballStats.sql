-- @template B01 weight=5.0475
select "teamID", sum("homeRuns") as "HR" from "baseballStats" where "teamID" = {{teamID}} and "yearID" >= {{yearID:num}} group by "teamID"
-- @template B02 weight=1.5428
select count(*) from baseballStats where yearID between {{yearID:plus10}} and teamID in ({{teamID:in2}})
-- @template B03 weight=1.7348
select yearID, sum(homeRuns) as hr, sum(hits) as h from baseballStats where playerID = {{playerID}} group by yearID order by yearID desc limit 30
-- @template B04 weight=2.0959
select playerName, teamID, yearID, homeRuns from baseballStats where yearID = {{yearID}} and league = {{league}} order by homeRuns desc limit 25
-- @template B05 weight=2.8990
select teamID as club, count(*) as n from baseballStats where club = {{teamID}} and league <> 'AL' group by club
-- @template B06 weight=1.6651
select sum(runs), sum(hits), sum(runsBattedIn) from baseballStats where playerName = {{playerName}}
-- @template B07 weight=1.2721
select playerName, yearID from baseballStats where playerName like '{{playerName:prefix5}}%' and teamID = {{teamID}} limit 40
-- @template B08 weight=6.0340
select count(*) from baseballStats where homeRuns >= 30 and yearID >= {{yearID:num}}
-- @template B09 weight=7.5955
select teamID, avg(AtBatting) from baseballStats where (teamID = {{teamID}} or league = {{league}}) and yearID = {{yearID}} group by teamID order by avg(AtBatting) desc limit 10
-- @template B10 weight=1.3928
select distinct playerName from baseballStats where teamID = {{teamID}} and yearID in ({{yearID:in5}}) limit 60
-- @template B11 weight=1.2038
SELECT league, COUNT(*) cnt FROM baseballStats WHERE playerStint <> 1 AND yearID NOT BETWEEN {{yearID:plus40}} GROUP BY league LIMIT 10
-- @template B12 weight=1.4889
select playerID, sum(stolenBases) sb from baseballStats where playerID in ({{playerID:in40}}) group by playerID order by sb desc limit 40
-- @template B13 weight=10.5058
select count(*) from baseballStats where playerID not in ({{playerID:in3}}) and teamID = {{teamID}} and playerStint = {{playerStint}}
-- @template B14 weight=1.9905
select playerID, teamID, yearID from baseballStats where yearID = {{yearID}} limit 30
-- @template B15 weight=1.8962
select playerID, playerName from baseballStats where teamID = {{teamID}} and playerStint > 1 limit 5
-- @template B16 weight=2.3502
select max(homeRuns), min(homeRuns) from baseballStats where league = {{league}} and not (teamID = {{teamID}} or teamID = {{teamID}})
-- @template B17 weight=3.4656
select teamID, count(*) from baseballStats where stolenBases = {{stolenBases}} and caughtStealing = {{caughtStealing}} group by teamID limit 15
-- @template B18 weight=4.3625
select count(*) from baseballStats where {{yearID}} = yearID and 100 < hits
-- @template B19 weight=1.3097
select sum(homeRuns) filter(where league = 'NL') as nl, sum(homeRuns) filter(where league = 'AL') as al from baseballStats where yearID > {{yearID:num}}
-- @template B20 weight=2.6862
select count(*) from baseballStats where baseballStats.homeRuns = {{homeRuns}} or baseballStats.tripples = {{tripples}} or baseballStats.stolenBases = {{stolenBases}}
-- @template B21 weight=1.3498
select upper(playerName), count(*) from baseballStats where lower(teamID) = 'nya' and concat(league, teamID, '-') <> 'NL-NYA' group by upper(playerName) limit 10
-- @template B22 weight=18.2917
select count(*) from baseballStats where (yearID = {{yearID}} and teamID = {{teamID}}) or (playerStint = 3 and league = {{league}})
-- @template B23 weight=1.2369
select yearID, teamID, sum(strikeouts) / sum(AtBatting) as k from baseballStats where teamID in ({{teamID:in12}}) and yearID between {{yearID:plus20}} and playerStint = 1 group by yearID, teamID having sum(AtBatting) > 0 order by k limit 20
-- @template B24 weight=1.8115
select * from baseballStats where league = {{league}} and teamID = {{teamID}} and homeRuns > 10 limit 10
-- @template B25 weight=3.8563
select count(*), sum(case when homeRuns > 20 then 1 else 0 end) as sluggers from baseballStats where playerStint in (1, 2) and league in ('NL', 'AL') and teamID <> {{teamID}}
-- @template B26 weight=3.1540
select playerID from baseballStats where playerID between 'm' and 'mccz' and playerStint <> {{playerStint}} and league = {{league}} limit 100
-- @template B27 weight=2.2149
select percentile(hits, 90) from baseballStats where yearID = {{yearID}} and league = {{league}} and playerStint = {{playerStint}} option(timeoutMs=9000)
-- @template B28 weight=1.4391
SET timeoutMs = 8000;
select teamID, max(G_old) from baseballStats where G_old in (154, 162, {{G_old:in3}}) and yearID <> {{yearID}} group by teamID
order by teamID
limit 200
-- @template B29 weight=1.6013
select yearID, count(*) from baseballStats where runs - hits > 0 and league = {{league}} group by yearID limit 150
-- @template B30 weight=2.5056
select count(*) from baseballStats where teamID between 'N' and 'P' and sacrificeFlies != 0 and playerName = {{playerName}}
-- @template BF1 weight=0.3000 fail
select count(*) from baseballStats where TeamId = {{teamID}}
-- @template BF2 weight=0.3000 fail
select count(*) from baseballStats where text_match(playerName, '{{playerName:prefix4}}') and league = {{league}}
-- @template BF3 weight=0.3000 fail
select count(*) from baseballStats where yearID in ({{yearID}}, 2000.5) and teamID = {{teamID}}
-- @template BF4 weight=0.3000 fail
select count(*) from baseball_stats where teamID = {{teamID}}
-- @template BF5 weight=0.3000 fail
select count(*) from baseballStats b where b.teamID = {{teamID}} and b.league = {{league}}
-- @template BF6 weight=0.3000 fail
select count(*) from baseballStats where 1 = 1 and teamID = {{teamID}}
