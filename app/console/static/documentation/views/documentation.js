/** The frame of the page: all calls at the side, and the one that the address names. */

import { html, useCallback, useEffect, useRef, useState } from "../../view.js";
import { EmptyState } from "../../parts/empty_state.js";
import { ProblemNotice } from "../../parts/problem_notice.js";
import { Toasts } from "../../parts/toasts.js";
import { Waiting } from "../../parts/waiting.js";
import { Problem } from "../../api/problem.js";
import { addressOf, usePlace } from "../../routing/route.js";
import { Help } from "../../shell/help.js";
import { useKeyboard } from "../../shell/keyboard.js";
import { useApi } from "../exchange/use_api.js";
import { Bar } from "./bar.js";
import { CallList } from "./call_list.js";
import { CallView } from "./call_view.js";
import { Overview } from "./overview.js";

const TO_OVERVIEW = { pattern: "", title: "All calls", key: "o" };
const SCREENS = [TO_OVERVIEW];
const KEYS = [
  ["↓ ↑", "from the search to its results, and among them"],
  ["Enter", "in the search: the first result"],
  ["Ctrl+Enter", "send what is tried out"],
];

/** @param {{consoleAddress: string}} props empty: there is none */
export function Documentation({ consoleAddress }) {
  const { parts } = usePlace();
  const { api, failure, again } = useApi();
  const [hasHelp, setHasHelp] = useState(false);
  const help = useCallback(() => setHasHelp(true), []);
  useKeyboard(SCREENS, help);
  // The last part: addresses of the page that was here before had a group in front.
  const id = parts.at(-1) ?? "";
  const call = api?.calls.get(id);
  useTitle(api, id, call);
  return html`<a class="skip" href="#main" onClick=${toMain}>To the content</a>
    <${Bar} consoleAddress=${consoleAddress} help=${help} />
    <div class="frame documentation">
      ${api && html`<${CallList} tasks=${api.tasks} current=${id} />`}
      <main id="main" tabindex="-1">
        ${failure && html`<${ProblemNotice} problem=${new Problem({ title: "There is nothing to show", detail: failure })} onAgain=${again} />`}
        ${!api && !failure && html`<${Waiting} />`}
        ${api && contentOf(api, id, call)}
      </main>
    </div>
    <${Toasts} />
    ${hasHelp && html`<${Help} screens=${SCREENS} more=${KEYS} onClose=${() => setHasHelp(false)} />`}`;
}

function contentOf(api, id, call) {
  if (call) return html`<${CallView} key=${id} api=${api} call=${call} />`;
  if (!id) return html`<${Overview} api=${api} />`;
  return html`<h1 tabindex="-1">Nothing here</h1>
    <${EmptyState} title="No call has this address"><a href=${addressOf([])}>All calls</a><//>`;
}

/** Who listens to the page hears where they have come to; who has just opened it begins at the top. */
function useTitle(api, id, call) {
  const isOpened = useRef(false);
  const isThere = api !== null;
  useEffect(() => {
    if (!isThere) return;
    document.title = call ? `${call.summary} – Acklog API` : "Acklog API";
    if (isOpened.current) document.querySelector("main h1")?.focus({ preventScroll: true });
    isOpened.current = true;
    scrollTo(0, 0);
  }, [id, isThere]);
}

function toMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}
