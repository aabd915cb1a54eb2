/** A message as it is: body, headers, tags, times. */

import { html, useMemo } from "../view.js";
import { bytesOf, readable } from "../format/body.js";
import { bytes } from "../format/number.js";
import { time } from "../format/time.js";
import { Badge } from "./badge.js";
import { Button } from "./button.js";
import { HostileText } from "./hostile_text.js";

const SHOWN_CHARACTERS = 10_000;

/** @param {{message: object}} props as the API shows one */
export function MessageContent({ message }) {
  const { kind, text, size } = useMemo(() => readable(message), [message]);
  const headers = Object.entries(message.headers ?? {});
  return html`<div class="cards">
    <section class="card">
      <div class="card-head">
        <h2>Body <span class="quiet">${kind}, ${bytes(size)}</span> ${message.contentType && html`<${Badge}><${HostileText} text=${message.contentType} lengthMax=${60} /><//>`}</h2>
        <${Button} kind="quiet" onClick=${() => save(message, text)}>Download<//>
      </div>
      <${HostileText} text=${text} lengthMax=${SHOWN_CHARACTERS} isBlock=${true} />
    </section>
    <section class="card">
      <h2>Properties</h2>
      <dl class="facts">
        <div><dt>Key</dt><dd>${message.key === undefined ? "none" : html`<${HostileText} text=${message.key} />`}</dd></div>
        <div><dt>Partition</dt><dd>${message.partition}</dd></div>
        <div><dt>Offset</dt><dd>${message.offset}</dd></div>
        <div><dt>Stored</dt><dd>${time(message.appendTime)}</dd></div>
        <div><dt>Its own time</dt><dd>${time(message.timestamp)}</dd></div>
        ${message.expiresAt !== undefined && html`<div><dt>Expires</dt><dd>${time(message.expiresAt)}</dd></div>`}
        <div><dt>Tags</dt><dd>${(message.tags ?? []).length ? html`<span class="badges">${message.tags.map((tag) => html`<${Badge}><${HostileText} text=${tag} lengthMax=${40} /><//>`)}</span>` : "none"}</dd></div>
        <div class="wide"><dt>Id</dt><dd class="mono"><${HostileText} text=${message.messageId} /></dd></div>
      </dl>
      ${headers.length > 0 &&
      html`<h3 class="apart">Headers</h3>
        <dl class="pairs">
          ${headers.map(([name, value]) => html`<div><dt><${HostileText} text=${name} lengthMax=${80} /></dt><dd><${HostileText} text=${value} lengthMax=${400} /></dd></div>`)}
        </dl>`}
    </section>
  </div>`;
}

/** As a file of no type that a browser would show or run. */
function save(message, text) {
  const content = message.bodyBase64 === undefined ? text : bytesOf(message.bodyBase64);
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${message.messageId}${message.bodyBase64 === undefined ? ".json" : ".bin"}`;
  link.click();
  URL.revokeObjectURL(url);
}
