/** What stands in a call's path, query and headers. */

import { html } from "../../view.js";
import { limitsOf, typeOf } from "../model/schema.js";
import { FieldList } from "./field_list.js";

/** @param {{call: import("../model/api_document.js").Call, schemas: Record<string, object>}} props */
export function CallParameters({ call, schemas }) {
  if (call.parameters.length === 0) return null;
  const fields = call.parameters.map((each) => ({
    ...each,
    depth: 0,
    type: typeOf(each.schema, schemas),
    limits: limitsOf(each.schema, schemas),
  }));
  return html`<section class="call-part"><h2>Parameters</h2><${FieldList} fields=${fields} /></section>`;
}
