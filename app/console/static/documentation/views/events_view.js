/** The last events of a stream, the newest first. */

import { html } from "../../view.js";
import { counted } from "../../format/number.js";
import { TAIL_SHOWN_MAX } from "../../live/tail_entries.js";
import { Badge } from "../../parts/badge.js";
import { HostileText } from "../../parts/hostile_text.js";
import { pretty } from "../model/answer_text.js";

const SHOWN_CHARACTERS = 2_000;

/** @param {{events: ReturnType<typeof import("../../live/tail_entries.js").nothingSeen>}} props */
export function EventsView({ events }) {
  return html`<section class="events" aria-label="Events">
    <p class="quiet">${counted(events.seen, "event")} so far${events.seen > TAIL_SHOWN_MAX ? `; the last ${TAIL_SHOWN_MAX} are shown` : ""}.</p>
    <ol>
      ${events.entries.map(
        ({ number, message }) => html`<li key=${number}>
          <p><${Badge}><${HostileText} text=${message.type} lengthMax=${40} /><//> <span class="quiet mono"><${HostileText} text=${message.id} lengthMax=${60} /></span></p>
          <${HostileText} text=${pretty(message.data)} lengthMax=${SHOWN_CHARACTERS} isBlock=${true} />
        </li>`,
      )}
    </ol>
  </section>`;
}
