/** What a browser keeps for the console. One that keeps nothing (it can be told so) forgets it with the page. */

const forgotten = new Map();

/** @param {"localStorage" | "sessionStorage"} place @param {string} name @returns {string | null} */
export function read(place, name) {
  try {
    return window[place].getItem(name);
  } catch {
    return forgotten.get(name) ?? null;
  }
}

/** @param {"localStorage" | "sessionStorage"} place @param {string} name @param {string} value */
export function write(place, name, value) {
  try {
    window[place].setItem(name, value);
  } catch {
    forgotten.set(name, value);
  }
}

/** @param {"localStorage" | "sessionStorage"} place @param {string} name */
export function forget(place, name) {
  forgotten.delete(name);
  try {
    window[place].removeItem(name);
  } catch {
    // It was never kept.
  }
}
