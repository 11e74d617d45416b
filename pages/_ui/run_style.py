"""Where things stand on a run's page; it is in the head of all pages, because what a script sends comes too late."""

# What is drawn later has its room from the beginning: nothing moves; a bar of progress is 35 pixels high.
# Badges are as small as text, links have edges.
RUN_STYLE = """
    body .st-key-run-head, body .st-key-run-facts { min-height: 2.9rem; }
    body .st-key-run-facts { margin-top: -.75rem; }
    body .st-key-log-fields { min-height: 4.25rem; }
    body :where([data-testid="stMain"]:has(.st-key-run-head) [data-testid="stVerticalBlock"] >
        [data-testid="stElementContainer"]:not([class*="st-key-"])) > [data-testid="stSkeleton"] { height: 35px; }
    .st-key-budget-uses [data-testid="stSkeleton"] { height: 35px; }
    body :is(.st-key-approval, .st-key-alert) [data-testid="stAlertContainer"] { min-height: 5rem; }
    body .st-key-log-switches { min-height: 2.5rem; }
    @media (min-width: 768px) {
        body .st-key-run-head { flex-wrap: nowrap; }
        body .st-key-run-head > div:first-child { max-width: calc(100% - 23rem); }
        body .st-key-run-actions { min-width: 22rem; }
    }
    body .st-key-run-head h1 { font-size: 1.6rem; line-height: 2.4rem; }
    body .st-key-run-head h1 .stMarkdownBadge { font-size: .85rem; line-height: 1.5; font-weight: 500; }
    body .st-key-run-head h1 .stMarkdownBadge { vertical-align: middle; }
    body .st-key-run-links a, body .st-key-run-actions a { border: 1px solid #8886; }
    body .st-key-cause [data-testid="stPageLink"] a { border: 1px solid #8886; }
    body .st-key-run-links a { border-radius: 999px; }
    body .st-key-run-actions a { height: 2.5rem; }
    body .st-key-run-links p, body .st-key-run-actions a p { font-weight: 400; }
    body .st-key-cause { background: color-mix(in srgb, #d93025 9%, transparent); border-color: #d93025; }
    body:has(.st-key-run-head) .st-key-tiles [data-testid="stMetricValue"] { font-weight: 600; }
    body:has(.st-key-run-head) .st-key-tiles > div { min-height: 8.4rem; }
"""
