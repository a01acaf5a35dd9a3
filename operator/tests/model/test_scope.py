"""Spark SQL that must not be refused by mistake."""

from __future__ import annotations

import pytest

from understudy.model.scope import Scope, aggregate_faults, row_faults

SCOPE = Scope({"ecg": ("patient", "mv", "arr", "m", "st")})

ROWS = r"""
mv > 0.8 and patient <> 'p3' or not mv < 1
!(mv > 3)
mv between 0 and 1
mv <=> 3
mv is distinct from 3
patient rlike 'p[0-9]'
patient like any ('a%', 'b%')
patient ilike 'P%'
(mv, patient) in ((1.0D, 'a'))
1e-3 + 1.5D + 10L + 5BD
"double quoted" = patient
r'\d' = patient
~1 = 2 ^ 3 & 4 | 1 << 2
int(mv) div 3 + mv % 2
cast(mv as decimal(10, 2))
try_cast(patient as int)
mv::int
bigint(mv)
date(ts)
ts + interval '1' second - interval 10 minutes
ts > timestamp '2026-01-01 00:00:00'
timestampadd(second, 1, ts)
timestampdiff(second, ts, ts)
dateadd(day, 1, ts)
extract(second from ts)
date_trunc('minute', ts)
timestamp_micros(_seq)
case patient when 'a' then 1 else 2 end
if(mv > 1, 'a', 'b')
substring(patient from 1 for 2)
trim(both 'x' from patient)
position('a' in patient)
split(patient, 'p')[1]
regexp_extract(patient, 'p(\\d+)', 1)
element_at(map('a', 1), 'a')
map('a', 1)['a']
named_struct('a', mv).a
st.a.b > 1
m.k
filter(arr, (x, i) -> i > 0)
aggregate(arr, 0, (total, x) -> total + x)
transform(arr, x -> struct(x as a, mv as b))
exists(arr, x -> x > mv)
zip_with(arr, arr, (x, y) -> x + y)
variant_get(parse_json(patient), '$.a', 'int')
ecg.mv > ecg._seq and ECG.TS is not null
mod(hash(_seq), 100) / 500.0
"""

AGGREGATES = """
count(*)
count(distinct mv) filter (where mv > 1)
sum(if(mv > 1, 1, 0)) / nullif(count(*), 0)
round(avg(mv), 2)
max(struct(mv, patient)).patient
max(ts) - min(ts)
any(mv > 1)
every(mv > 1) and some(mv < 0)
std(mv)
percentile(mv, 0.5)
percentile_cont(0.5) within group (order by mv)
first(mv, true)
first(mv) ignore nulls
listagg(patient, ',') within group (order by patient)
concat(patient, ':', count(*))
case when count(*) > 3 then patient else 'few' end
hll_sketch_estimate(hll_sketch_agg(patient))
"""


@pytest.mark.parametrize("text", ROWS.strip().splitlines())
def test_an_expression_that_spark_takes_is_accepted(text: str) -> None:
    assert list(row_faults(text, SCOPE)) == []


@pytest.mark.parametrize("text", AGGREGATES.strip().splitlines())
def test_an_aggregate_that_spark_takes_is_accepted(text: str) -> None:
    assert list(aggregate_faults(text, SCOPE, ("patient",))) == []
