"""Charts as SVG files: a button beside Streamlit's own, which saves what the browser has drawn."""

import json

import streamlit as st

from pages._ui.shell.words import t

# Streamlit's toolbar saves PNG only, and drops the menu of Vega's own. Charts of thousands of marks are drawn on a
# canvas: these have no button.
SAVED_AS_SVG = """<style>
button.save-svg {{
  border: 0; padding: 0 6px; border-radius: 4px; cursor: pointer; background: none; color: inherit;
  font: 600 11px/24px var(--st-font, sans-serif);
}}
button.save-svg:hover {{ background: color-mix(in srgb, currentColor 12%, transparent); }}
</style><script>
(() => {{
  window.saveSvgLabel = {label};
  if (window.savedAsSvg) return;
  window.savedAsSvg = true;
  let due = false;
  const save = chart => {{
    const text = new XMLSerializer().serializeToString(chart.querySelector("svg.marks"));
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], {{type: "image/svg+xml"}}));
    link.download = "aisbench-chart.svg";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }};
  const add = () => {{
    due = false;
    for (const chart of document.querySelectorAll('[data-testid="stVegaLiteChart"]')) {{
      const frame = chart.closest('[data-testid="stFullScreenFrame"]');
      const bar = frame?.querySelector('[data-testid="stElementToolbarButtonContainer"]');
      if (!bar || bar.querySelector(".save-svg") || !chart.querySelector("svg.marks")) continue;
      const button = document.createElement("button");
      button.className = "save-svg";
      button.textContent = "SVG";
      button.title = window.saveSvgLabel;
      button.setAttribute("aria-label", window.saveSvgLabel);
      button.addEventListener("click", () => save(chart));
      bar.append(button);
    }}
  }};
  const later = () => {{ if (!due) {{ due = true; setTimeout(add, 50); }} }};
  new MutationObserver(later).observe(document.body, {{childList: true, subtree: true}});
  later();
}})();
</script>"""


def install_svg_buttons() -> None:
    """Once in the browser: each chart can be saved as SVG."""
    st.html(SAVED_AS_SVG.format(label=json.dumps(t("charts.save_svg"))), unsafe_allow_javascript=True)
