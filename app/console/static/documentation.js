/** Where the page `/docs` starts. */

import { html, render } from "./view.js";
import { Documentation } from "./documentation/views/documentation.js";

const place = document.getElementById("documentation");
render(html`<${Documentation} consoleAddress=${place.dataset.console} />`, place);
