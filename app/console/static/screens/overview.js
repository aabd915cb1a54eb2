/** How all is. */

import { html, useEffect, useRef, useState } from "../view.js";
import { useAnswer } from "../api/use_answer.js";
import { count, rate } from "../format/number.js";
import { polled } from "../live/polled.js";
import { emptyHistory, withPoint } from "../live/rate_history.js";
import { EmptyState } from "../parts/empty_state.js";
import { Plot } from "../parts/plot.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { ScreenHead } from "../parts/screen_head.js";
import { Waiting } from "../parts/waiting.js";

const EVERY_MS = 2_000;
const LINES = [
  { title: "sent", colour: "plot-one" },
  { title: "delivered", colour: "plot-two" },
  { title: "settled", colour: "plot-three" },
];

function OverviewView() {
  const before = useRef(null);
  const look = async (signal) => (before.current = await polled(signal, before.current));
  const { answer, problem, again } = useAnswer(look, [], { everyMs: EVERY_MS });
  const history = useHistory(answer);
  return html`<${ScreenHead} title="Overview" />
    <${ProblemNotice} problem=${problem} onAgain=${again} />
    ${!answer && !problem && html`<${Waiting} />`}
    ${answer &&
    html`<dl class="figures">
        <${Figure} title="Partitions" value=${answer.totals.partitions} />
        <${Figure} title="Without a leader" value=${answer.totals.withoutLeader} alarm="bad" />
        <${Figure} title="Below min. in sync" value=${answer.totals.belowMinInsync} alarm="bad" />
        <${Figure} title="Under-replicated" value=${answer.totals.underReplicated} alarm="warn" />
        <${Figure} title="Nodes" value=${answer.nodes.length} />
      </dl>
      <section class="card">
        <h2>Messages a second, through this gateway</h2>
        ${answer.counts
          ? html`<${Plot} label="Messages a second" lines=${LINES} data=${history} show=${rate} />`
          : html`<${EmptyState} title="No rates">They need the right to look at everything.<//>`}
      </section>`}`;
}

function Figure({ title, value, alarm = "" }) {
  return html`<div><dt>${title}</dt><dd class=${value > 0 ? alarm : ""}>${count(value)}</dd></div>`;
}

function useHistory(answer) {
  const [history, setHistory] = useState(() => emptyHistory(LINES.length));
  useEffect(() => {
    const gateway = answer?.totals.gateway;
    if (!gateway) return;
    const values = [gateway.sentPerSecond, gateway.deliveredPerSecond, gateway.settledPerSecond];
    setHistory((last) => withPoint(last, answer.time, values));
  }, [answer]);
  return history;
}

/** @type {import("../routing/matching.js").Screen} */
export const overview = { pattern: "", title: "Overview", key: "o", View: OverviewView };
