// Tables that show part of their rows at once, with filter and sorting; numbers as text.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"use strict";

const pageRows = 200;

function formatScaled(value, unit) {
  const prefixes = ["", "k", "M", "G", "T", "P"];
  let i = 0;
  for (; value >= 999.5 && i + 1 < prefixes.length; ++i)
    value /= 1000;
  return `${value.toFixed(i === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2)} ${prefixes[i]}${unit}`;
}
const formatSize = (value) => formatScaled(value, "B");

function makeElement(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {}))
    element.setAttribute(key, value);
  element.append(...children);
  return element;
}

/**
 * A table over `rows`. A column is {label, value(row): sort key, show(row): text or node, isText}. Only the first rows
 * that pass the filter are in the document; `more` adds as many again.
 */
class ReportTable {
  constructor(name, columns) {
    this.name = name;
    this.columns = columns;
    this.rows = [];
    this.sort = null;
    this.shown = pageRows;
    this.keep = () => true;
    this.table = document.getElementById(name);
    this.filter = document.getElementById(`${name}-filter`);
    this.more = document.getElementById(`${name}-more`);
    this.more.addEventListener("click", () => { this.shown += pageRows; this.draw(); });
    if (this.filter)
      this.filter.addEventListener("input", () => { this.shown = pageRows; this.draw(); });
  }
  setRows(rows) {
    this.rows = rows;
    this.shown = pageRows;
    this.draw();
  }
  select() {
    const words = (this.filter ? this.filter.value : "").toLowerCase().split(/\s+/).filter(Boolean);
    const textOf = (row) => (row.searchText ??= this.columns.map((column) => String(column.value(row))).join(" ").toLowerCase());
    const rows = this.rows.filter((row) => this.keep(row) && words.every((word) => textOf(row).includes(word)));
    if (!this.sort)
      return rows;
    const { column, sign } = this.sort, key = this.columns[column].value;
    const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
    return rows.map((row, i) => [key(row), i, row]).sort((a, b) => sign * compare(a[0], b[0]) || a[1] - b[1]).map((each) => each[2]);
  }
  draw() {
    const rows = this.select(), head = makeElement("tr"), body = makeElement("tbody");
    this.columns.forEach((column, i) => {
      const cell = makeElement("th", { scope: "col", ...(column.isText ? { class: "text" } : {}) });
      const isSorted = this.sort && this.sort.column === i;
      cell.setAttribute("aria-sort", isSorted ? (this.sort.sign > 0 ? "ascending" : "descending") : "none");
      const button = makeElement("button", { type: "button" }, column.label + (isSorted ? (this.sort.sign > 0 ? " ▲" : " ▼") : ""));
      button.addEventListener("click", () => {
        this.sort = { column: i, sign: isSorted ? -this.sort.sign : column.isText ? 1 : -1 };
        this.draw();
        this.table.querySelectorAll("th button")[i].focus();
      });
      cell.append(button);
      head.append(cell);
    });
    for (const row of rows.slice(0, this.shown)) {
      const line = makeElement("tr");
      for (const column of this.columns)
        line.append(makeElement("td", column.isText ? { class: "text" } : {}, column.show ? column.show(row) : String(column.value(row))));
      body.append(line);
    }
    this.table.replaceChildren(makeElement("thead", {}, head), body);
    this.more.hidden = rows.length <= this.shown;
    const count = document.getElementById(`${this.name}-count`);
    if (count)
      count.textContent = `${rows.length} of ${this.rows.length}`;
  }
}
