/** A form that sends a call, what comes of it, and the same as curl and as Python. */

import { html, useState } from "../../view.js";
import { session } from "../../api/session.js";
import { useStore } from "../../api/store.js";
import { Button } from "../../parts/button.js";
import { memory } from "../exchange/memory.js";
import { ROOT } from "../exchange/root.js";
import { useTryOut } from "../exchange/use_try_out.js";
import { filledFor } from "../model/filled.js";
import { faultsOf, planOf } from "../model/request_plan.js";
import { AnswerView } from "./answer_view.js";
import { BodyForm } from "./body_form.js";
import { CodeCopies } from "./code_copies.js";
import { EventsView } from "./events_view.js";
import { OtherParameters, UsualParameters } from "./parameter_form.js";

/** @param {{api: import("../model/api_document.js").Api, call: import("../model/api_document.js").Call}} props */
export function TryOut({ api, call }) {
  const [filled, setFilled] = useState(() => filledFor(call, memory.value));
  const { token } = useStore(session);
  const tried = useTryOut();
  const faults = faultsOf(call, filled);
  const why = Object.values(faults)[0] ?? null;
  const plan = planOf(call, filled, ROOT);
  const isUnderWay = tried.phase === "asking" || tried.phase === "streaming";
  const change = (changed) => setFilled((last) => ({ ...last, ...changed }));
  const form = { call, filled, faults, change };
  const submit = (event) => {
    event.preventDefault();
    if (!why) tried.send(call, filled, plan);
  };
  const pressed = (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event);
  };
  return html`<section class="card try" aria-label="Try it out">
    <h2>Try it out</h2>
    <form onSubmit=${submit} onKeyDown=${pressed}>
      <${UsualParameters} ...${form} />
      <${BodyForm} ...${form} />
      <${OtherParameters} ...${form} />
      <div class="dialog-end">
        ${isUnderWay && html`<${Button} onClick=${tried.stop}>Stop<//>`}
        <${Button} kind=${call.method === "DELETE" ? "danger" : "main"} type="submit" why=${why} title="Ctrl+Enter">Send<//>
      </div>
    </form>
    <div aria-live="polite">${stateOf(tried)}</div>
    ${tried.answer && html`<${AnswerView} answer=${tried.answer} api=${api} call=${call} hasToken=${Boolean(token)} />`}
    ${(tried.phase === "streaming" || tried.events.seen > 0) && html`<${EventsView} events=${tried.events} />`}
    <${CodeCopies} ...${{ call, filled, plan, hasToken: Boolean(token), why }} />
  </section>`;
}

function stateOf({ phase, failure, answer }) {
  if (failure) return html`<p class="fault" role="alert">${failure}</p>`;
  if (phase === "asking") return html`<p class="quiet">Waiting for the answer …</p>`;
  if (phase === "stopped") return html`<p class="quiet">Stopped.</p>`;
  if (phase === "streaming") return html`<p class="quiet"><span class="live-dot" aria-hidden="true"></span> The stream is open.</p>`;
  if (phase === "done" && answer?.bytes === null) return html`<p class="quiet">The server has ended the stream.</p>`;
  return null;
}
