/** Light or dark: as the system has it, or as was chosen here. */

import { html } from "../view.js";
import { read, write } from "../api/kept.js";
import { Store, useStore } from "../api/store.js";

const KEPT_AS = "acklog.theme";
const NEXT = { system: "light", light: "dark", dark: "system" };
const SIGNS = { system: "◐", light: "☀", dark: "☾" };
export const theme = new Store(kept());
theme.listen(apply);
apply(theme.value);

export function ThemeSwitch() {
  const chosen = useStore(theme);
  const change = () => {
    write("localStorage", KEPT_AS, NEXT[chosen]);
    theme.set(NEXT[chosen]);
  };
  return html`<button type="button" class="icon-button" onClick=${change} title=${`Colours: ${chosen}`} aria-label=${`Colours: ${chosen}. Change`}>
    <span aria-hidden="true">${SIGNS[chosen]}</span>
  </button>`;
}

function kept() {
  const found = read("localStorage", KEPT_AS);
  return found in NEXT ? found : "system";
}

function apply(chosen) {
  if (chosen === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
}
