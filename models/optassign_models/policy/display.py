"""Tables, pages and pictures: how much they show, and how wide they are.

Made from policy.toml by `make policy`.
"""

TABLE_WIDTH = 120
"""The width of tables that go to no terminal, if COLUMNS does not say otherwise. A log or an issue shows as much. [columns]"""
NARROW = 100
"""The width up to which tables leave columns out; help texts are no wider. Longer lines are hard to read. [columns]"""
MOST_ROWS = 50
"""The number of rows beyond which tables leave rows out, and say how many. Longer tables are not read. [rows]"""
LONGEST_TEXT = 120
"""The number of characters of a line of text. Longer lines are hard to read. [characters]"""
FULL_NAMES = 116
"""The width from which Kafka's process ids stand next to other names of clients. Narrower tables have no room for both.
[columns]"""
NAME_LENGTHS = (8, 28)
"""The least and the most characters that such a name gets. The end of a longer one is shown, in which instances differ.
[characters]"""
PLOT_ROWS = 4
"""The rows of a plot of the demonstration. Two plots and their texts fit a terminal. [rows]"""
PLOT_MARGIN = 12
"""The columns to the left and right of such a plot. They hold the scale. [columns]"""
MOST_SEEDS = 20
"""The number of seeds that a table of grades names. A line stays readable. [entries]"""
MOST_BARS = 60
"""The number of instances that the page of `inspect` draws. The table has all. [clients]"""
MOST_ACROSS = 3
"""The number of panels in a row of a picture. More are too narrow to be read. [entries]"""
SILENT_START_S = 1.0
"""The time until a command shows its progress. Short commands show none. [s]"""
WIDEST_NAME = 40
"""The number of characters of an application's name in a table. Wider columns leave no room for others. [characters]"""
DRAWN_TASKS = 60
"""The number of tasks up to which each has a row in a timeline. In larger applications rows are too thin to be seen. [tasks]"""
LISTED_MOVES = 20
"""The number of moves that a table of `what-if` lists. Longer tables are not read. [rows]"""
CHART_WIDTH = 640
"""The width of a chart. It fits half of a screen. [pixels]"""
CHART_HEIGHT = 92
"""The height of a chart. Charts of one page are seen together. [pixels]"""
CHART_LEFT = 58
"""The width of the scale to the left of a chart. Seven digits fit. [pixels]"""
SHADES = 6
"""The shades of a heat map, in addition to that of 0. More are not told apart. [steps]"""
LABEL_WIDTH = 150
"""The width of the names to the left of a heat map. Twenty characters fit. [pixels]"""
ROW_HEIGHT = 16
"""The height of a row of a heat map. A line of small text fits. [pixels]"""
NUMBERED_COLUMNS = 28
"""The number of subtopologies up to which a heat map has numbers. Narrower cells have no room. [columns]"""
LABEL_LENGTH = 20
"""The number of characters of a name in a heat map. Longer ones leave no room for cells. [characters]"""
PAGE_NAME = 60
"""The number of characters that a page shows of a name. The whole one is its title. [characters]"""
PAGE_SENTENCE = 600
"""The number of characters that a page shows of a sentence. The whole one is its title. [characters]"""
ROWS_ON_A_PAGE = 50
"""The number of rebalances, copies or holders on a page. A page stays small. [rows]"""
IN_TIMELINE = 200
"""The number of rebalances in a timeline, of names in a list and of moves on a page. More are not told apart. [rows]"""
HEAT_MAP_ROWS = 100
"""The number of clients of a heat map on one page. A page stays small. [clients]"""
HEAT_MAP_COLUMNS = 120
"""The number of subtopologies of a heat map. More columns are too narrow to be seen. [columns]"""
ALL_MOVES = 20_000
"""The number of moves on the page that has all of them. A browser shows as many within a second. [rows]"""
WHAT_IF_MOVES = 100
"""The number of moves that a what-if answer lists. A page stays small. [rows]"""
MOST_POINTS = 400
"""The number of points of a curve. A chart has no more pixels than that. [entries]"""
