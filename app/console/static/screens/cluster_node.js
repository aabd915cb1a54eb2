/** One node of the map: how it is, what it holds, and its drain. */

import { html, useState } from "../view.js";
import { change, path } from "../api/server.js";
import { useChange } from "../api/use_change.js";
import { statesOf } from "../format/cluster.js";
import { count } from "../format/number.js";
import { Badge } from "../parts/badge.js";
import { Button } from "../parts/button.js";
import { HostileText } from "../parts/hostile_text.js";
import { say, sayWhyNot } from "../parts/toasts.js";
import { ClusterDrain } from "./cluster_drain.js";

/** @param {{node: object, isController: boolean, right: {allowed: boolean, reason: string}, onDone: () => void}} props */
export function ClusterNode({ node, isController, right, onDone }) {
  return html`<li class="card node" aria-label=${`Node ${node.node}`}>
    <div class="node-head">
      <h3>Node ${node.node}</h3>
      <span class="badges">
        ${statesOf(node).map(([words, kind]) => html`<${Badge} key=${words} kind=${kind}>${words}<//>`)}
        ${isController && html`<${Badge}>controller<//>`}
      </span>
    </div>
    <p class="quiet mono"><${HostileText} text=${node.address || "–"} lengthMax=${80} /></p>
    <dl class="node-facts">
      <div><dt>Replicas</dt><dd>${count(node.replicas)}</dd></div>
      <div><dt>Leaders</dt><dd>${count(node.leaders)}</dd></div>
    </dl>
    ${node.draining && node.replicas === 0 && html`<p class="hint">It can be stopped for good.</p>`}
    <div class="node-end">${node.draining ? html`<${StopDraining} ...${{ node, right, onDone }} />` : html`<${Drain} ...${{ node, right, onDone }} />`}</div>
  </li>`;
}

function Drain({ node, right, onDone }) {
  const [isOpen, setIsOpen] = useState(false);
  return html`<${Button} right=${right} label=${`Drain node ${node.node} …`} onClick=${() => setIsOpen(true)}>Drain …<//>
    ${isOpen && html`<${ClusterDrain} ...${{ node, right, onDone }} onClose=${() => setIsOpen(false)} />`}`;
}

function StopDraining({ node, right, onDone }) {
  const { why, run } = useChange(sayWhyNot);
  const stop = () =>
    run(async () => {
      await change("DELETE", path`cluster/nodes/${node.node}/drain`);
      say(`Node ${node.node} may get replicas again.`);
      onDone();
    });
  return html`<${Button} ...${{ right, why }} label=${`Stop draining node ${node.node}`} onClick=${stop}>Stop draining<//>`;
}
