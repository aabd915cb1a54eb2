/** Lines over time. Who cannot see them hears the last values. */

import { html, useEffect, useLayoutEffect, useRef } from "../view.js";
import { Store, useStore } from "../api/store.js";
import { shownOf } from "../live/rate_history.js";
import { theme } from "../shell/theme.js";
import uPlot from "../vendor/uplot.js";

const HEIGHT = 190;
const clock = uPlot.fmtDate("{HH}:{mm}:{ss}");
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");
const systemColours = new Store(systemIsDark.matches);
systemIsDark.addEventListener("change", (event) => systemColours.set(event.matches));

/**
 * @param {{label: string, lines: {title: string, colour: string}[], data: (number | null)[][], show: (value: number) => string}} props
 *  `colour` names one of the style sheet; `data` are times in seconds, and the values of each line.
 */
export function Plot({ label, lines, data, show }) {
  const place = useRef(null);
  const plot = useRef(null);
  const colours = `${useStore(theme)} ${useStore(systemColours)}`;
  useLayoutEffect(() => {
    const element = place.current;
    const drawn = new uPlot(optionsOf(lines, show, element), data, element);
    const fit = new ResizeObserver(() => drawn.setSize({ width: element.clientWidth, height: HEIGHT }));
    fit.observe(element);
    plot.current = drawn;
    return () => {
      fit.disconnect();
      drawn.destroy();
    };
  }, [colours]);
  useEffect(() => plot.current?.setData(data), [data]);
  const said = lines.map(({ title }, index) => `${title}: ${spoken(data[index + 1], show)}`).join(", ");
  return html`<figure class="plot">
    <ul class="legend">
      ${lines.map(
        ({ title, colour }, index) =>
          html`<li><span class=${`dot ${colour}`} aria-hidden="true"></span>${title} <strong>${spoken(data[index + 1], show)}</strong></li>`,
      )}
    </ul>
    <div ref=${place} class="plot-place" role="img" aria-label=${`${label}. Now ${said}.`}></div>
  </figure>`;
}

/** As a canvas takes it: what the style sheet says is one of two. */
function colourIn(element, name) {
  element.style.color = `var(--${name})`;
  return getComputedStyle(element).color;
}

function optionsOf(lines, show, element) {
  const colour = (name) => colourIn(element, name);
  const axis = {
    stroke: colour("text-soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: {
      x: { range: (plot) => shownOf(plot.data[0]) },
      y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.15)] },
    },
    axes: [
      { ...axis, values: (_plot, times) => times.map(clockOf), space: 90, size: 28, grid: { show: false } },
      { ...axis, values: (_plot, values) => values.map(show), size: 56, space: 34 },
    ],
    series: [{}, ...lines.map((each) => ({ label: each.title, stroke: colour(each.colour), width: 2, points: { show: false } }))],
  };
}

/** Before there is anything to draw, the axis is one of no time. */
function clockOf(time) {
  return time > 0 ? clock(new Date(time * 1000)) : "";
}

function spoken(values, show) {
  const last = values?.findLast((each) => each !== null && each !== undefined);
  return last === undefined ? "–" : show(last);
}
