// A press on a heading puts the rows of its table in order, numbers by size; another turns them round.
for (const button of document.querySelectorAll("thead button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0];
    const rising = head.getAttribute("aria-sort") === "descending";
    const key = (row) => row.cells[head.cellIndex].textContent;
    const number = (row) => Number(key(row).replaceAll(",", ""));
    const compare = (one, other) => number(one) - number(other) || (Number.isNaN(number(one)) ? key(one).localeCompare(key(other)) : 0);
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", rising ? "ascending" : "descending");
    body.append(...[...body.rows].sort((one, other) => (rising ? 1 : -1) * compare(one, other)));
  });
}
