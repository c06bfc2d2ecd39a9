"""The service and its recordings: how much it keeps, how long it waits (docs/reference/configuration.md).

Made from policy.toml by `make policy`.
"""

LONGEST_FOLDER = 120
"""The number of characters of a folder's name. File systems allow 255, and a date and a number follow. [characters]"""
KEPT_OF_FOLDER = 100
"""The number of characters that stay of a longer name, before its hash. A person still recognises it. [characters]"""
DAMAGED_RECORDINGS = 5
"""The number of damaged recordings that are passed by in search of one that can be read. More of them mean that the disk is
broken. [recordings]"""
READ_RECORDINGS = 1_000
"""The number of recordings that are read in search of the last applied answer of an application. It bounds the time of the
first request. [recordings]"""
RECORDED_NAMES = 3
"""The number of clients that the head of a recording names. The head must stay short, whatever they are called. [clients]"""
RECORDED_CHARACTERS = 200
"""The number of characters of a client's name that the head of a recording keeps. The head must stay short. [characters]"""
COMPARISON_S = 300.0
"""The greatest time of a comparison, the start of its process included. A page waits for it. [s]"""
REMEMBERED_REBALANCES = 4_096
"""The number of answered rebalances that are remembered. Their reports come soon, or not at all. [answers]"""
REPORT_WAITS_S = 20.0
"""The time that a report waits for those before it. Plug-ins send them in order, within seconds. [s]"""
UNANSWERED_REBALANCES = 1_000
"""The number of remembered rebalances without an answer. Plug-ins hold back fewer reports. [answers]"""
DEMO_S = 2.0
"""The time limit of each answer of the demonstration. The day has hundreds of answers. [s]"""
MOST_HOLDS = 4_096
"""The number of applications and drains in all. Names come from requests, so what is kept needs a bound. [entries]"""
MOST_KNOWN = 256
"""The number of applications that are remembered, the last ones asked for. Names come from requests, so what is kept needs a
bound. [applications]"""
REFUSED_CLIENTS = 10
"""The number of clients that a refusal names. A refusal stays one line. [clients]"""
UPLOAD_S = 20.0
"""The time for the body of a comparison or report. The end of the service may have to wait so long for it. [s]"""
COMPARE_S = 10.0
"""The time limit of each assignor if the request states no deadline. Groups of 3,000 tasks are proven within it. [s]"""
CONNECTION_LOOK_S = 1.0
"""The time between two looks at all connections. A limit of ten seconds is kept to a tenth. [s]"""
HEAD_S = 10.0
"""The time for the head of a request, from its first byte; for the first head, from the accepted connection, TLS included. Slow
senders must not hold all connections. [s]"""
READ_S = 30.0
"""The time that a peer may take nothing of a reply. A peer that stands still must not hold a connection. [s]"""
RETRY_S = 1
"""The time after which a refused client may come again. The queue is shorter by then. [s]"""
SMALL_BODY = 1_048_576
"""The number of bytes that each request may hold; larger ones are counted. Connections are limited in number. [bytes]"""
HELD_BYTES = 4_096
"""The size of the body of a pause, drain or limit. It has a few fields. [bytes]"""
LONGEST_CLIENT = 255
"""The number of characters of a client's name. It is as long as the name of a file. [characters]"""
HELD_S = 5.0
"""The time for such a body to arrive. It has a few bytes. [s]"""
DRAIN_WAITS_S = 3600.0
"""The time that a request may wait for a drain. It bounds how long a connection stays open. [s]"""
DRAIN_LOOK_S = 0.5
"""The time between two looks whether a request still has to wait for a drain. A script goes on within it. [s]"""
LONGEST_BY = 100
"""The number of characters of an operator's name. It is shown in one line. [characters]"""
INFLATED_AT_ONCE = 1_048_576
"""The number of bytes that are inflated in one call. The limit of a body is checked in between. [bytes]"""
SILENT_S = 10.0
"""The time between two pieces of a body. Slow senders must not hold all connections. [s]"""
HEAD_BYTES = 262_144
"""The number of bytes of a body in which the application's name is looked for. A refusal in the log names it. [bytes]"""
LONGEST_TIMEOUT_MS = 60_000
"""The longest time-out of a plug-in. A group stands still while its leader waits. [ms]"""
LONGEST_AGE_MS = 31_622_400_000
"""The greatest age of an answer that a header may name. A year is more than any application runs without a rebalance. [ms]"""
LONGEST_VERSION = 60
"""The number of characters that are kept of the plug-in's version. It goes into a log line. [characters]"""
SHORTEST_TOKEN = 16
"""The least number of characters of a token. Shorter ones can be guessed. [characters]"""
TOKEN_FILE = 1_048_576
"""The greatest size of a file with tokens. Another file was named by mistake. [bytes]"""
WAITING_LINES = 2_000
"""The number of lines that wait for standard error to take them. A log that stands still must not fill the memory. [lines]"""
BURST_LINES = 500
"""The number of lines of one event that are written at once. A flood of one kind leaves room for the others. [lines]"""
LINES_PER_SECOND = 50
"""The number of lines of one event that are written in each later second. A flood of one kind leaves room for the others.
[lines]"""
LOG_KINDS = 100
"""The number of kinds of events that are told apart. Libraries choose the names of their loggers. [entries]"""
LONGEST_LINE = 16_384
"""The number of characters of a line of the log. Docker splits lines of more than 16 KiB. [characters]"""
LOG_STOPS_S = 2.0
"""The time for waiting lines to be written when the service stops. A log that stands still must not keep the service. [s]"""
BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The bounds of the histogram of answer times. They reach from the smallest group to the greatest time limit in use. [s]"""
PAGE_NICENESS = 10
"""The niceness of processes that make pages. Rebalances come first. [steps]"""
SESSION_S = 43_200
"""The time after which a user has to log in again. It is a working day. [s]"""
FORM_BYTES = 4_096
"""The greatest size of a form. It has a few fields. [bytes]"""
SAME_REBALANCE_S = 120.0
"""The time by which the answer of a rebalance and its report may be dated apart. Both clocks count the same seconds. [s]"""
RECORDER_QUEUE = 64
"""The number of rebalances that wait to be written. A disk that stands still must not fill the memory. [recordings]"""
MOST_KEEP_DAYS = 300000.0
"""The greatest number of days to keep recordings. More days before today may be before the first day that Python can name.
[days]"""
CLEAN_UP_S = 600.0
"""The time between two looks for old recordings, if none are written. Days are counted, so minutes do not matter. [s]"""
KEEP_ALIVE_S = 1_800
"""The time that an idle connection stays open. A JVM keeps one for 1,200 s at most, and has to be the one that closes it.
[s]"""
FILE_LOOK_S = 2.0
"""The time between two looks whether tokens or certificate have changed. A new one counts within it. [s]"""
PAGE_S = 30.0
"""The time for one page that is looked at. A reader waits no longer. [s]"""
TRIAL_S = 90.0
"""The time for one page that solves or simulates. A reader waits no longer. [s]"""
FLUSH_S = 10.0
"""The time for recordings to be written when the service stops. systemd waits for 90 s. [s]"""
FASTEST_CLOCK = 24
"""The factor on the time that the service has run, by which its clock may jump ahead and still be believed. It takes a day of
running until a jump of 24 days is believed. [times]"""
LISTED_APPLICATIONS = 256
"""The number of applications on a page. A page is made within a second. [applications]"""
HISTORY_BYTES = 2_500_000
"""The number of bytes of recordings that the history of a task reads, as they are on the disk. Large recordings take long to
read. [bytes]"""
WAITING_LOOKS_BACK = 30
"""The number of recordings that are read to find since when a copy has been waited for. A page is made within a second.
[recordings]"""
WAITING_BYTES = 1_000_000
"""The number of bytes of these recordings, as they are on the disk. Large recordings take long to read. [bytes]"""
KEPT_HEADS = 5_000
"""The number of heads of recordings that are kept in memory. A worker of the service has a limit of memory. [recordings]"""
KEPT_WAITING = 2_000
"""The number of times of waiting copies that are kept in memory. A worker of the service has a limit of memory. [recordings]"""
KEPT_DERIVED = 32
"""The number of derived views that are kept in memory. A worker of the service has a limit of memory. [recordings]"""
KEPT_WHOLE = 2
"""The number of whole recordings that are kept in memory. A worker of the service has a limit of memory. [recordings]"""
NEWEST_DAYS = 2
"""The number of an application's newest days that are read again at each look. New recordings come into these. [days]"""
OVERDUE_FOLLOWUP_S = 120.0
"""The time by which a follow-up may be late until the pages say so. A rebalance takes some of it. [s]"""
SILENCE_S = 86400.0
"""The time until nothing is known of an application that was silent, if no follow-up was due. A stable group is asked once a
day or more often. [s]"""
STATUS_LOOKS_BACK = 200
"""The number of recordings that are read to find when a status began. A page is made within a second. [recordings]"""
FATAL_REQUEST_S = 600
"""The time until a request that has cost a worker may be sent again. By then the service has been repaired. [s]"""
FATAL_REQUESTS = 1_000
"""The number of remembered requests that have cost a worker. What is kept needs a bound. [entries]"""
GREEDY_S = 0.05
"""The time of greedy for the smallest group, with reading and writing. It was measured from 1,000 × 100 to 10,000 × 1,000.
[s]"""
GREEDY_S_PER_TASK = 5e-05
"""The time of greedy for each task. It was measured from 1,000 × 100 to 10,000 × 1,000. [s]"""
GREEDY_S_PER_BYTE = 3e-08
"""The time of greedy for each byte of the snapshot. It was measured from 1,000 × 100 to 10,000 × 1,000. [s]"""
BUSY_FACTOR = 1.5
"""The factor on that time on a busy machine. Neighbours share its cores. [times]"""
WRITING_SHARE = 0.3
"""The share of greedy's time that checking and writing another assignor's answer takes. The time limit of a solver ends before.
[share]"""
GRACE_S = 1.0
"""The time in addition to greedy's from the deadline until a request is refused. The plug-in has given up by then. [s]"""
OVERDUE_S = 5.0
"""The time after that until a worker is killed. A worker that heeds its limits has ended. [s]"""
UNKNOWN_FIELDS = 20
"""The number of unknown fields that the log names. A line stays readable. [entries]"""
MOST_OBJECTS = 4_000_000
"""The number of lists and objects in a body. Each takes memory of a worker. [entries]"""
LEAST_LIMIT_S = 0.001
"""The least time limit of a solver. A limit that is over already is still one. [s]"""
FIRST_PAUSE_S = 0.5
"""The first pause before a worker that does not start is started again. Each later one takes twice as long. [s]"""
LONGEST_PAUSE_S = 30.0
"""The longest such pause. A repaired service answers again within it. [s]"""
HEAVY_S = 1.0
"""The work from which a job is heavy; such jobs never have all of several workers. Small groups must not wait for large ones.
[s]"""
WORKER_LOOK_S = 1.0
"""The time between two looks whether idle workers are alive. A dead one is replaced before it is needed. [s]"""
WORKER_ENDS_S = 5.0
"""The time after the limits of its job until a process ends itself. The service has not ended it. [s]"""
WORKER_STOPS_S = 5.0
"""The time for an idle process to end by itself. It is killed then. [s]"""
PROGRESS_S = 5.0
"""The time for a report on progress to arrive. It has a few hundred lines at most. [s]"""
PROGRESS_BYTES = 65_536
"""The size of a report on progress. It has a few hundred lines at most. [bytes]"""
PROGRESS_COPIES = 100
"""The number of copies of one report on progress: those with the most to restore. A page shows no more. [copies]"""
PROGRESS_SILENT_S = 30.0
"""The time without news, at least, after which an instance that restores counts as silent. It is six reports. [s]"""
PROGRESS_INSTANCES = 2_000
"""The number of instances whose reports on progress are kept. What is kept needs a bound. [clients]"""
PROGRESS_EVERY_MS = 5_000
"""The least time between two reports on progress of an instance. A reader of the page sees copies move. [ms]"""
PROGRESS_SHARE_S = 0.02
"""The time between two reports for each instance that reports. Reports of all together are fifty per second at most. [s]"""
PROGRESS_BUSY_S = 60.0
"""The time after its last report that an instance counts as reporting. It is longer than the time between two reports of a
large group. [s]"""
