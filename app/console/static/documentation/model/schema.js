/** What a JSON schema allows, in words and as rows. Pure. */

const DEPTH_MAX = 6;
const LIMITS = [
  ["minimum", "at least"],
  ["exclusiveMinimum", "more than"],
  ["maximum", "at most"],
  ["exclusiveMaximum", "less than"],
];
const SIZES = [
  ["minLength", "maxLength", "characters"],
  ["minItems", "maxItems", "items"],
  ["minProperties", "maxProperties", "members"],
];

/** @typedef {{name: string, depth: number, isRequired: boolean, type: string, limits: string[], text: string}} Field */

/** “integer”, “array of string”, “string or null”. @param {object} schema @param {Record<string, object>} schemas */
export function typeOf(schema, schemas) {
  const found = resolved(schema, schemas);
  const choices = found.anyOf ?? found.oneOf;
  if (choices) return [...new Set(choices.map((each) => typeOf(each, schemas)))].join(" or ");
  if (found.enum) return found.enum.map((each) => JSON.stringify(each)).join(" or ");
  if (found.type === "array") return `array of ${typeOf(found.items ?? {}, schemas)}`;
  if (found.contentEncoding === "base64") return "string (base64)";
  if (found.format === "date-time") return "time (RFC 3339)";
  if (found.format === "binary") return "bytes";
  return Array.isArray(found.type) ? found.type.join(" or ") : (found.type ?? "any JSON value");
}

/** What else a value has to be, and what holds where none is given. @param {object} schema @param {Record<string, object>} schemas
 * @returns {string[]} */
export function limitsOf(schema, schemas) {
  const found = resolved(schema, schemas);
  const own = LIMITS.filter(([name]) => name in found).map(([name, words]) => `${words} ${found[name].toLocaleString("en")}`);
  const sizes = SIZES.map(([least, most, unit]) => sizeIn(found[least], found[most], unit)).filter(Boolean);
  const pattern = found.pattern ? [`matches ${found.pattern}`] : [];
  const inner = [...(found.anyOf ?? found.oneOf ?? []), ...(found.items ? [found.items] : [])];
  const rest = inner.flatMap((each) => limitsOf({ ...resolved(each, schemas), default: undefined }, schemas));
  const byDefault = found.default === undefined || found.default === null ? [] : [`default ${numberOr(found.default)}`];
  return [...new Set([...byDefault, ...own, ...sizes, ...rest, ...pattern])];
}

/** Members of an object, and of those in it, each after the one that it is in.
 * @param {object} schema @param {Record<string, object>} schemas @returns {Field[]} */
export function fieldsOf(schema, schemas, depth = 0, within = new Set()) {
  const object = objectIn(schema, schemas);
  if (object === null || depth >= DEPTH_MAX || within.has(object)) return [];
  const inside = new Set([...within, object]);
  return Object.entries(object.properties ?? {}).flatMap(([name, member]) => [
    {
      name,
      depth,
      isRequired: (object.required ?? []).includes(name),
      type: typeOf(member, schemas),
      limits: limitsOf(member, schemas),
      text: member.description ?? textOf(member, schemas),
    },
    ...fieldsOf(member, schemas, depth + 1, inside),
  ]);
}

/** Each object that an answer may be, by its name. @param {object} schema @param {Record<string, object>} schemas
 * @returns {{name: string, schema: object}[]} */
export function formsOf(schema, schemas) {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return choices.flatMap((each) => formsOf(each, schemas));
  return objectIn(schema, schemas) === null ? [] : [{ name: nameOf(schema), schema }];
}

function numberOr(value) {
  return typeof value === "number" ? value.toLocaleString("en") : JSON.stringify(value);
}

export function nameOf(schema) {
  return schema.$ref?.split("/").at(-1) ?? "";
}

function sizeIn(least, most, unit) {
  if (least === undefined && most === undefined) return "";
  if (!least) return most === undefined ? "" : `up to ${most.toLocaleString("en")} ${unit}`;
  if (most === undefined) return `at least ${least.toLocaleString("en")} ${unit}`;
  return `${least.toLocaleString("en")} to ${most.toLocaleString("en")} ${unit}`;
}

function textOf(schema, schemas) {
  const found = resolved(schema, schemas);
  if (found.description) return found.description;
  return (found.anyOf ?? found.oneOf ?? []).map((each) => resolved(each, schemas).description ?? "").find(Boolean) ?? "";
}

/** The object that a value is, or has in it: of an array its items', of a choice the one of them. */
function objectIn(schema, schemas) {
  const found = resolved(schema, schemas);
  if (found.properties) return found;
  if (found.items) return objectIn(found.items, schemas);
  const objects = (found.anyOf ?? found.oneOf ?? []).map((each) => objectIn(each, schemas)).filter(Boolean);
  return objects[0] ?? null;
}

function resolved(schema, schemas) {
  return schema.$ref ? { ...(schemas[nameOf(schema)] ?? {}), ...(schema.description ? { description: schema.description } : {}) } : schema;
}
