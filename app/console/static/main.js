/** Where the console starts. */

import { html, render } from "./view.js";
import { Application } from "./shell/application.js";

render(html`<${Application} />`, document.getElementById("console"));
