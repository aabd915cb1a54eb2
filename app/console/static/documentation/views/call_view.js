/** One call: what it is for, what it takes and answers, how it fails; and beside it a form that sends it. */

import { html } from "../../view.js";
import { Badge } from "../../parts/badge.js";
import { ScreenHead } from "../../parts/screen_head.js";
import { HostileText } from "../../parts/hostile_text.js";
import { addressOf } from "../../routing/route.js";
import { CallAnswers } from "./call_answers.js";
import { CallBodies } from "./call_bodies.js";
import { CallParameters } from "./call_parameters.js";
import { CallProblems } from "./call_problems.js";
import { MarkedText } from "./marked_text.js";
import { Method } from "./method.js";
import { TryOut } from "./try_out.js";

/** @param {{api: import("../model/api_document.js").Api, call: import("../model/api_document.js").Call}} props */
export function CallView({ api, call }) {
  const bodies = html`<${CallBodies} call=${call} schemas=${api.schemas} />`;
  const parameters = html`<${CallParameters} call=${call} schemas=${api.schemas} />`;
  const task = api.tasks.find((each) => each.calls.includes(call));
  return html`<${ScreenHead} title=${call.summary} trail=${[{ text: "All calls", href: addressOf([]) }, { text: task.title, href: addressOf([task.calls[0].id]) }]} />
    <p class="call-address"><${Method} method=${call.method} /> <code><${HostileText} text=${call.path} /></code></p>
    <p class="call-rights">
      ${call.isOpen ? html`<${Badge} kind="good">No token is needed<//>` : html`<span class="quiet">Rights:</span> <${MarkedText} text=${call.rights} />`}
      ${call.isStream && html` <${Badge}>a stream, until you hang up<//>`}
    </p>
    <div class="call-halves">
      <div class="call-text">
        ${isMostlyBody(call) ? [bodies, parameters] : [parameters, bodies]}
        <${CallAnswers} call=${call} schemas=${api.schemas} />
        <${CallProblems} problems=${call.problems} />
      </div>
      <div class="call-try"><${TryOut} api=${api} call=${call} /></div>
    </div>`;
}

/** What nobody has to give comes behind what says everything. */
function isMostlyBody(call) {
  return call.isBodyRequired && !call.parameters.some(({ isRequired, example }) => isRequired || example !== undefined);
}
