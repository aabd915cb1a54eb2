/** A table with pages; on narrow screens each row becomes a card. */

import { html, useEffect, useState } from "../view.js";
import { count } from "../format/number.js";
import { Button } from "./button.js";

/**
 * @template T
 * @typedef {{title: string, of: (row: T) => unknown, isNumber?: boolean, sortBy?: (row: T) => string | number, isMain?: boolean, isRest?: boolean}} Column
 *  `isRest`: it has the room that the others leave
 */

/**
 * @template T
 * @param {{caption: string, columns: Column<T>[], rows: T[], keyOf: (row: T) => string | number, pageSize?: number}} props
 *  `caption` is for who does not see the table.
 */
export function Table({ caption, columns, rows, keyOf, pageSize = 50 }) {
  const [page, setPage] = useState(0);
  const [order, setOrder] = useState({ column: -1, isDown: false });
  const sorted = inOrder(rows, columns[order.column]?.sortBy, order.isDown);
  const pages = Math.max(1, Math.ceil(sorted.length / pageSize));
  const current = Math.min(page, pages - 1);
  useEffect(() => setPage(0), [order.column, order.isDown]);
  const sort = (column) => setOrder((last) => ({ column, isDown: last.column === column && !last.isDown }));
  return html`<div class="table-frame">
      <table>
        <caption class="only-heard">${caption}</caption>
        <thead><tr>${columns.map((column, index) => html`<${Head} ...${{ column, index, order, sort }} />`)}</tr></thead>
        <tbody>
          ${sorted.slice(current * pageSize, (current + 1) * pageSize).map(
            (row) => html`<tr key=${keyOf(row)}>${columns.map((column) => cell(column, row))}</tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${pages > 1 && html`<${Pages} ...${{ current, pages, total: sorted.length, pageSize, setPage }} />`}`;
}

function Head({ column, index, order, sort }) {
  const isSorted = order.column === index;
  const said = isSorted ? (order.isDown ? "descending" : "ascending") : undefined;
  const sign = isSorted ? (order.isDown ? "↓" : "↑") : "";
  return html`<th scope="col" class=${column.isNumber ? "number" : ""} aria-sort=${said}>
    ${column.sortBy
      ? html`<button type="button" class="sort" onClick=${() => sort(index)}>${column.title} <span aria-hidden="true">${sign}</span></button>`
      : column.title}
  </th>`;
}

function cell(column, row) {
  const kind = `${column.isNumber ? "number" : ""} ${column.isMain ? "main" : ""} ${column.isRest ? "rest" : ""}`;
  return html`<td class=${kind} data-title=${column.title}>${column.of(row)}</td>`;
}

function Pages({ current, pages, total, pageSize, setPage }) {
  const from = current * pageSize + 1;
  const to = Math.min(total, (current + 1) * pageSize);
  return html`<nav class="pages" aria-label="Pages">
    <${Button} kind="quiet" why=${current > 0 ? null : "This is the first page."} onClick=${() => setPage(current - 1)}>← Before<//>
    <span aria-live="polite">${count(from)}–${count(to)} of ${count(total)}</span>
    <${Button} kind="quiet" why=${current < pages - 1 ? null : "This is the last page."} onClick=${() => setPage(current + 1)}>Next →<//>
  </nav>`;
}

function inOrder(rows, sortBy, isDown) {
  if (!sortBy) return rows;
  const sign = isDown ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [left, right] = [sortBy(one), sortBy(other)];
    return left < right ? -sign : left > right ? sign : 0;
  });
}
