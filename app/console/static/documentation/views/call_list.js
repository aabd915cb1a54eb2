/** All calls at the side, with the search for one. */

import { html, useEffect, useRef, useState } from "../../view.js";
import { SearchField } from "../../parts/search_field.js";
import { addressOf, goTo } from "../../routing/route.js";
import { HostileText } from "../../parts/hostile_text.js";
import { searched } from "../model/search.js";
import { Method } from "./method.js";

/** @param {{tasks: import("../model/api_document.js").Task[], current: string}} props */
export function CallList({ tasks, current }) {
  const [text, setText] = useState("");
  const list = useRef(null);
  useEffect(() => {
    setText("");
    list.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }, [current]);
  const found = searched(tasks, text);
  const isSearching = text.trim() !== "";
  const pressed = (event) => {
    if (event.key === "Enter" && event.target.type === "search" && isSearching && found.length) goTo(addressOf([found[0].calls[0].id]));
    else if (event.key === "ArrowDown" || event.key === "ArrowUp") step(event, list.current);
  };
  return html`<nav class=${`calls ${isSearching ? "searching" : ""}`} aria-label="Calls" onKeyDown=${pressed}>
    <div class="calls-search"><${SearchField} label="Search calls" value=${text} onInput=${setText} /></div>
    <p class="only-heard" role="status">${isSearching ? `${found.reduce((sum, task) => sum + task.calls.length, 0)} calls found` : ""}</p>
    <div class="calls-list" ref=${list}>
      ${found.map((task) => html`<${TaskCalls} key=${task.title} task=${task} current=${current} />`)}
      ${found.length === 0 && html`<p class="quiet calls-none">No call has that in it.</p>`}
    </div>
  </nav>`;
}

function TaskCalls({ task, current }) {
  return html`<section>
    <h2><${HostileText} text=${task.title} /></h2>
    <ul>
      ${task.calls.map(
        (call) => html`<li key=${call.id}>
          <a href=${addressOf([call.id])} aria-current=${call.id === current ? "page" : undefined} title=${call.path}>
            <${Method} method=${call.method} /> <span class="call-name"><${HostileText} text=${call.summary} /></span>
          </a>
        </li>`,
      )}
    </ul>
  </section>`;
}

/** From the field to the first result, and from one to the next; from the first back to the field. */
function step(event, list) {
  const links = [...list.querySelectorAll("a")];
  const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
  if (next >= links.length || next < -1 || (next === -1 && event.target.type === "search")) return;
  event.preventDefault();
  if (next === -1) document.querySelector(".calls input[type=search]").focus();
  else links[next].focus();
}
