/** Which screen an address is of. */

/**
 * @typedef {object} Screen
 * @property {string} pattern parts of its address, `:name` for what differs: "topics/:topic"
 * @property {string} title
 * @property {string} [key] pressed behind `g`, it leads here; a screen with a key is in the navigation
 * @property {string} [under] the entry of the navigation that it belongs to, where its address does not say that
 * @property {import("../vendor/preact.js").FunctionComponent} View gets `names`, by the pattern, and `query`
 */

/** @param {Screen[]} screens @param {string[]} parts @returns {{screen: Screen, names: Record<string, string>} | null} */
export function screenAt(screens, parts) {
  for (const screen of screens) {
    const names = namesIn(screen.pattern, parts);
    if (names) return { screen, names };
  }
  return null;
}

function namesIn(pattern, parts) {
  const wanted = pattern.split("/").filter(Boolean);
  if (wanted.length !== parts.length) return null;
  const names = {};
  for (const [index, each] of wanted.entries()) {
    if (each.startsWith(":")) names[each.slice(1)] = parts[index];
    else if (each !== parts[index]) return null;
  }
  return names;
}
