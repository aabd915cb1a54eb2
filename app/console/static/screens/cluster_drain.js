/** Draining a node: what would be moved is shown first, and done only then. */

import { html } from "../view.js";
import { change, path } from "../api/server.js";
import { useAnswer } from "../api/use_answer.js";
import { useChange } from "../api/use_change.js";
import { nodesText } from "../format/cluster.js";
import { count, counted } from "../format/number.js";
import { Button } from "../parts/button.js";
import { Dialog } from "../parts/dialog.js";
import { HostileText } from "../parts/hostile_text.js";
import { ProblemNotice } from "../parts/problem_notice.js";
import { Table } from "../parts/table.js";
import { say } from "../parts/toasts.js";
import { Waiting } from "../parts/waiting.js";

const STUCK_SHOWN_MAX = 10;

const MOVES = [
  { title: "Partition", isMain: true, of: (each) => html`<${HostileText} text=${each.topic} lengthMax=${60} /> ${each.partition}` },
  { title: "From nodes", of: (each) => nodesText(each.from) },
  { title: "To nodes", of: (each) => nodesText(each.to) },
  { title: "Why", of: (each) => each.reason },
];

/** @param {{node: object, right: {allowed: boolean, reason: string}, onDone: () => void, onClose: () => void}} props */
export function ClusterDrain({ node, right, onDone, onClose }) {
  const plan = useAnswer(() => change("POST", "cluster/plan", { drain: [node.node] }), ["plan", node.node]);
  const { problem, why, run } = useChange();
  const drain = () =>
    run(async () => {
      await change("PUT", path`cluster/nodes/${node.node}/drain`);
      say(`Node ${node.node} is being emptied.`);
      onDone();
      onClose();
    });
  return html`<${Dialog} title=${`Drain node ${node.node}`} onClose=${onClose}>
    <p>All that it has is moved to others, and it gets nothing new. It goes on serving meanwhile, and can be taken back at any time.</p>
    <${ProblemNotice} problem=${problem ?? plan.problem} onAgain=${problem ? undefined : plan.again} />
    ${!plan.answer && !plan.problem && html`<${Waiting} />`}
    ${plan.answer && html`<${Plan} plan=${plan.answer} />`}
    <div class="dialog-end">
      <${Button} kind="quiet" onClick=${onClose}>Cancel<//>
      <${Button} kind="danger" right=${right} why=${why ?? (plan.answer ? null : "First see what would be moved.")} onClick=${drain}>${plan.answer?.stuck.length ? "Drain it all the same" : "Drain it"}<//>
    </div>
  <//>`;
}

function Plan({ plan }) {
  const said = plan.moves.length === 0 ? "Nothing would be moved." : `${counted(plan.moves.length, "move")} would be made. Nothing is changed yet.`;
  return html`<div role="status"><p>${said}</p></div>
    ${plan.stuck.length > 0 && html`<${Stuck} stuck=${plan.stuck} />`}
    ${plan.moves.length > 0 && html`<${Table} caption="What would be moved" columns=${MOVES} rows=${plan.moves} keyOf=${(each) => `${each.topic} ${each.partition}`} pageSize=${8} />`}
    ${!plan.complete && html`<p class="hint">There are more. What could not be moved is not known therefore.</p>`}`;
}

function Stuck({ stuck }) {
  const rest = stuck.length - STUCK_SHOWN_MAX;
  return html`<div class="notice warn"><div class="notice-text">
    <strong>${counted(stuck.length, "partition")} cannot be moved</strong>
    <p>There is no other node for them, or no leader to copy from. The node keeps them:</p>
    <ul class="stuck">${stuck.slice(0, STUCK_SHOWN_MAX).map((each) => html`<li key=${`${each.topic} ${each.partition}`}><${HostileText} text=${each.topic} lengthMax=${60} /> ${each.partition}</li>`)}</ul>
    ${rest > 0 && html`<p>and ${count(rest)} more</p>`}
  </div></div>`;
}
