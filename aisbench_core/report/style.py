"""How the report looks, on screen and on A4."""

STYLE = """
@page { size: A4; margin: 20mm 14mm 18mm;
  @top-left { content: "%(title)s"; font: 8pt sans-serif; color: #444; }
  @top-right { content: "%(mark)s"; font: bold 8pt sans-serif; color: #a00000; }
  @bottom-left { content: "%(report)s"; font: 8pt monospace; color: #444; }
  @bottom-right { content: counter(page) " / " counter(pages); font: 8pt sans-serif; color: #444; } }
* { box-sizing: border-box; }
html { color: #111; background: #fff; }
body { font: 9.5pt/1.4 "Helvetica Neue", Arial, "Noto Sans", "Noto Sans CJK SC", "Source Han Sans SC",
  "Microsoft YaHei", "PingFang SC", "WenQuanYi Micro Hei", sans-serif;
  max-width: 182mm; margin: 0 auto; padding: 8mm 0; overflow-wrap: anywhere; }
h1 { font-size: 17pt; line-height: 1.2; margin: 0 0 4mm; }
h2 { font-size: 12pt; margin: 7mm 0 2mm; border-bottom: 1px solid #888; break-after: avoid; }
h3 { font-size: 10pt; margin: 4mm 0 1.5mm; break-after: avoid; }
table { border-collapse: collapse; width: 100%%; margin: 0 0 3mm; font-size: 8.5pt; }
thead { display: table-header-group; }
tr, figure { break-inside: avoid; }
th, td { border: 1px solid #bbb; padding: 1mm 1.5mm; text-align: left; vertical-align: top; font-weight: normal; }
thead th { background: #eef1f4; font-weight: bold; overflow-wrap: break-word; }
tbody th { width: 34%%; background: #f7f8fa; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
[lang=zh] { word-break: keep-all; }
td.run { min-width: 27mm; }
td.name { min-width: 20mm; }
td.flavor { min-width: 14mm; }
td.hash, td.code { font: 7.5pt/1.35 monospace; }
td.fail { color: #a00000; font-weight: bold; }
td.warn { color: #7a4a00; font-weight: bold; }
.unit { color: #444; font-weight: normal; }
.quiet, figcaption { color: #444; font-size: 8.5pt; }
figure { margin: 0 0 4mm; }
svg { width: 100%%; height: auto; display: block; }
svg text { font-size: 9.5px; fill: #222; }
.mark { border: 2px solid #a00000; color: #a00000; font-weight: bold; padding: 2mm 3mm; margin: 0 0 4mm; }
.watermark { position: fixed; inset: 0; display: flex; align-items: center; justify-content: center; z-index: 1;
  font: bold 40pt sans-serif; color: #a00000; opacity: 0.10; transform: rotate(-35deg); text-align: center;
  pointer-events: none; }
.sign { margin-top: 12mm; border-top: 1px solid #444; width: 60%%; padding-top: 1mm; break-inside: avoid; }
@media print { body { max-width: none; padding: 0; } }
"""
