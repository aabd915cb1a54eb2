/** The call that is filled in as curl and as Python, to be copied. */

import { html, useState } from "../../view.js";
import { Button } from "../../parts/button.js";
import { HostileText } from "../../parts/hostile_text.js";
import { say } from "../../parts/toasts.js";
import { copyText } from "../exchange/copy_text.js";
import { ROOT } from "../exchange/root.js";
import { curlOf } from "../model/curl.js";
import { pythonOf } from "../model/python.js";

const CODE_LENGTH_MAX = 8_000;

/** @param {{call: object, filled: object, plan: object, hasToken: boolean, why: string | null}} props `why` it cannot be sent now */
export function CodeCopies({ call, filled, plan, hasToken, why }) {
  const [language, setLanguage] = useState("curl");
  if (why) return null;
  const text = language === "curl" ? curlOf(plan, { hasToken, isStream: call.isStream }) : pythonOf(call, filled, plan, { hasToken, root: ROOT });
  const copy = async () => say((await copyText(text)) ? "Copied." : "The browser does not let this page copy: mark the text.");
  const tab = (name, said) => html`<${Button} kind="quiet" label=${`Show as ${said}`} pressed=${language === name} onClick=${() => setLanguage(name)}>${said}<//>`;
  return html`<section class="copies" aria-label="As code">
    <div class="card-head">
      <span class="row-actions">${tab("curl", "curl")}${tab("python", "Python")}</span>
      <${Button} onClick=${copy}>Copy<//>
    </div>
    <${HostileText} key=${language} text=${text} lengthMax=${CODE_LENGTH_MAX} isBlock=${true} />
    ${hasToken && html`<p class="hint">Your token is not in it: it is read from <code>ACKLOG_TOKEN</code>.</p>`}
  </section>`;
}
