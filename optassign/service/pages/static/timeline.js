// Timelines with a cursor, in place of the server's pictures; without this file those stay.
"use strict";
(() => {
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });

  function draw(figure) {
    const shown = JSON.parse(figure.dataset.timeline);
    if (figure.dataset.drawn || shown.x.length < 2) return;
    figure.dataset.drawn = "yes";
    const place = figure.querySelector(".picture");
    const before = place.innerHTML;
    const axis = { stroke: colour("--faint"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
    place.textContent = "";
    try {
      const plot = new uPlot({
        width: place.clientWidth, height: 150, cursor: { sync: { key: figure.dataset.group } },
        scales: { x: { time: shown.time } },
        axes: [axis, { ...axis, size: 52, values: (plot, splits) => splits.map((value) => short.format(value)) }],
        series: [{ label: shown.time ? "UTC" : "seconds" }, { label: shown.label, stroke: colour("--ours"), width: 2, paths: uPlot.paths.stepped({ align: 1 }), points: { show: shown.x.length < 60, size: 5 } }],
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC"),
      }, [shown.x, shown.y], place);
      plot.root.setAttribute("aria-hidden", "true"); // the table below says the same
      new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 150 })).observe(place);
    } catch (error) {
      place.innerHTML = before;
      console.error(error);
    }
  }

  const drawAll = (root) => root.querySelectorAll("figure[data-timeline]").forEach(draw);
  document.addEventListener("DOMContentLoaded", () => drawAll(document));
  document.addEventListener("htmx:load", (event) => drawAll(event.detail.elt));
})();
