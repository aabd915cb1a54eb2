/** The frame around every screen. */

import { html, useCallback, useEffect, useRef, useState } from "../view.js";
import { session } from "../api/session.js";
import { useStore } from "../api/store.js";
import { EmptyState } from "../parts/empty_state.js";
import { Toasts } from "../parts/toasts.js";
import { screenAt } from "../routing/matching.js";
import { addressOf, usePlace } from "../routing/route.js";
import { SCREENS } from "../screens.js";
import { Caller } from "./caller.js";
import { Help } from "./help.js";
import { useKeyboard } from "./keyboard.js";
import { Navigation } from "./navigation.js";
import { SignIn } from "./sign_in.js";
import { ThemeSwitch } from "./theme.js";

export function Application() {
  const { parts, query } = usePlace();
  const { token, signInReason } = useStore(session);
  const [hasHelp, setHasHelp] = useState(false);
  const help = useCallback(() => setHasHelp(true), []);
  useKeyboard(SCREENS, help);
  const found = screenAt(SCREENS, parts);
  const where = parts.join("/");
  const title = found ? [...Object.values(found.names).reverse(), found.screen.title].join(" · ") : "Nothing here";
  useEffect(() => {
    document.title = `${title} – Acklog`;
  }, [title]);
  const isOpened = useRef(false);
  useEffect(() => {
    // Who listens to the page hears where they have come to; who has just opened it begins at the top.
    if (isOpened.current) document.querySelector("main h1")?.focus();
    isOpened.current = true;
    scrollTo(0, 0);
  }, [where]);
  if (signInReason) {
    return html`<${Bar} help=${help} /><${SignIn} reason=${signInReason} />${hasHelp && html`<${Help} screens=${SCREENS} onClose=${() => setHasHelp(false)} />`}`;
  }
  return html`<a class="skip" href="#main" onClick=${toMain}>To the content</a>
    <${Bar} help=${help} />
    <div class="frame">
      <${Navigation} screens=${SCREENS} current=${found?.screen.under ?? parts[0] ?? ""} />
      <main id="main" tabindex="-1">
        ${found ? html`<${found.screen.View} key=${`${where} ${token}`} names=${found.names} query=${query} />` : html`<${Nowhere} />`}
      </main>
    </div>
    <${Toasts} />
    ${hasHelp && html`<${Help} screens=${SCREENS} onClose=${() => setHasHelp(false)} />`}`;
}

function Bar({ help }) {
  return html`<header class="bar">
    <a class="brand" href="#/"><span class="brand-sign" aria-hidden="true">✓</span> Acklog</a>
    <span class="bar-end">
      <${Caller} />
      <a class="bar-link" href="docs">API</a>
      <${ThemeSwitch} />
      <button type="button" class="icon-button" onClick=${help} title="Keys (?)" aria-label="Keys"><span aria-hidden="true">?</span></button>
    </span>
  </header>`;
}

function Nowhere() {
  return html`<h1 tabindex="-1">Nothing here</h1>
    <${EmptyState} title="No screen has this address"><a href=${addressOf([])}>To the overview</a><//>`;
}

function toMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}
