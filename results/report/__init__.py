"""A page that shows score and thrash at one look: one HTML file that needs no network.

style     colours, shapes, and what all charts have in common
panel     Panel: one pair of axes with titles; as SVG for the page, several as one picture
series    numbers of a file by row, in units that can be read
scores, thrash, timelines, pauses, percentiles   the charts, a list of panels each
charts    their names, titles, and how to read them
table, provenance, page   the rest of the page; assets/ holds what the browser gets besides

Charts are drawn with Matplotlib, which is imported when the first one is.
"""
