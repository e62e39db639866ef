/** Applies a change as a page with animations does: removes elements from the last, then inserts others. */
export function animated(before, { sections, items }) {
  const page = before.map(({ id, items }) => ({ id, items: [...items] }));
  const listOf = (id) => page.find((section) => section.id === id).items;
  const leaving = [...items.delete, ...items.move.map(({ id, from }) => ({ id, ...from }))];
  for (const { section, index } of leaving.sort((a, b) => b.index - a.index)) listOf(section).splice(index, 1);
  const movedSections = sections.move.map(({ id, from, to }) => {
    return { section: page.find((section) => section.id === id), from, to };
  });
  const leavingSections = [...sections.delete.map(({ index }) => index), ...movedSections.map(({ from }) => from)];
  for (const index of leavingSections.sort((a, b) => b - a)) page.splice(index, 1);
  const coming = [
    ...sections.insert.map(({ id, index }) => ({ section: { id, items: [] }, to: index })), ...movedSections,
  ];
  for (const { section, to } of coming.sort((a, b) => a.to - b.to)) page.splice(to, 0, section);
  const entering = [...items.insert, ...items.move.map(({ id, to }) => ({ id, ...to }))];
  for (const { id, section, index } of entering.sort((a, b) => a.index - b.index)) listOf(section).splice(index, 0, id);
  return page;
}
