/** Where somebody is: the part of the address behind `#`. So every view has an address that can be passed on, and the
 * server needs to know one only. */

import { Store, useStore } from "../api/store.js";

/** @typedef {{parts: string[], query: Record<string, string>}} Place */

const place = new Store(read());
addEventListener("hashchange", () => place.set(read()));

/** @returns {Place} */
export function usePlace() {
  return useStore(place);
}

/** The address of a place, for `href`. Query values that say nothing are left out.
 * @param {(string | number)[]} parts @param {Record<string, unknown>} [query] */
export function addressOf(parts, query = {}) {
  const asked = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "") asked.set(name, String(value));
  }
  const text = asked.toString();
  return `#/${parts.map((each) => encodeURIComponent(String(each))).join("/")}${text ? `?${text}` : ""}`;
}

/** @param {string} address as `addressOf` makes it */
export function goTo(address) {
  location.hash = address;
}

/** Change the address without a step in the browser's history: what is typed into a search field. @param {string} address */
export function stayAt(address) {
  history.replaceState(null, "", address);
  place.set(read());
}

function read() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {
    parts: path.split("/").filter(Boolean).map(unpacked),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function unpacked(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody has typed it
  }
}
