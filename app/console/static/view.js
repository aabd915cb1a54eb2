/** What views are made of: templates, and the hooks that they use. Nothing here ever becomes HTML by being parsed: all
 * that a server says ends up in text nodes and properties. */

import { Fragment, h, render } from "./vendor/preact.js";
import htm from "./vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, render };
export { useCallback, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "./vendor/preact_hooks.js";
