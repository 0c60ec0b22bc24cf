"""The example of the star-tree paper (Star-tree index): its seven rows and its configuration."""

from __future__ import annotations

ROWS = (
    "Country,Browser,Locale,Impressions\nCA,Chrome,en,400\nCA,Firefox,fr,200\nMX,Safari,es,300\n"
    "MX,Safari,en,100\nUSA,Chrome,en,600\nUSA,Firefox,es,200\nUSA,Firefox,en,400\n"
)
CONFIG = {
    "dimensionsSplitOrder": ["Country", "Browser", "Locale"],
    "functionColumnPairs": ["SUM__Impressions"],
    "maxLeafRecords": 1,
}
