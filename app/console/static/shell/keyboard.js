/** Keys that work everywhere: `/` to the search field, `g` and a letter to a screen, `?` for all of them. */

import { useEffect } from "../view.js";
import { addressOf, goTo } from "../routing/route.js";

const CHORD_MS = 1_500;

/** @param {import("../routing/matching.js").Screen[]} screens @param {() => void} onHelp */
export function useKeyboard(screens, onHelp) {
  useEffect(() => {
    let chordEnds = 0;
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      const isChord = Date.now() < chordEnds;
      chordEnds = 0;
      if (isChord) {
        const screen = screens.find((each) => each.key === event.key);
        if (screen) goTo(addressOf(screen.pattern.split("/").filter(Boolean)));
      } else if (event.key === "g") chordEnds = Date.now() + CHORD_MS;
      else if (event.key === "?") onHelp();
      else if (event.key === "/") toSearch(event);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [screens, onHelp]);
}

function toSearch(event) {
  const field = document.querySelector("input[type=search]");
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}
