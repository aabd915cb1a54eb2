/** What a body consists of, for each media type, with examples. */

import { html } from "../../view.js";
import { HostileText } from "../../parts/hostile_text.js";
import { prettyJson } from "../../api/exact_json.js";
import { fieldsOf, formsOf, typeOf } from "../model/schema.js";
import { FieldList } from "./field_list.js";

const EXAMPLE_LENGTH_MAX = 4_000;

/** @param {{contents: import("../model/api_document.js").Content[], schemas: Record<string, object>, opened?: number}} props
 *  `opened` is how many are unfolded at first. */
export function Contents({ contents, schemas, opened = 0 }) {
  return contents.map(({ mediaType, schema, examples }, index) => {
    const forms = formsOf(schema, schemas);
    return html`<div class="content">
      <p><code><${HostileText} text=${mediaType} /></code> ${forms.length === 0 && html`<span class="quiet">${typeOf(schema, schemas)}</span>`}</p>
      ${schema.description && html`<p><${HostileText} text=${schema.description} lengthMax=${1_000} /></p>`}
      ${forms.map((form) => html`<${Form} form=${form} schemas=${schemas} isOpen=${index < opened} />`)}
      ${examples.map((each) => html`<${Example} example=${each} />`)}
    </div>`;
  });
}

function Form({ form, schemas, isOpen }) {
  const text = schemas[form.name]?.description;
  return html`<details open=${isOpen}>
    <summary>${form.name || "Fields"}</summary>
    ${text && html`<p><${HostileText} text=${text} lengthMax=${1_000} /></p>`}
    <${FieldList} fields=${fieldsOf(form.schema, schemas)} />
  </details>`;
}

function Example({ example }) {
  const text = typeof example.value === "string" ? example.value : prettyJson(example.value);
  return html`<details>
    <summary>Example: <${HostileText} text=${example.name} /></summary>
    <${HostileText} text=${text} lengthMax=${EXAMPLE_LENGTH_MAX} isBlock=${true} />
  </details>`;
}
