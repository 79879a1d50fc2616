// biome-ignore-all lint/a11y/useSemanticElements: a table element cannot place virtual rows, and loses its role as a grid
// biome-ignore-all lint/a11y/useFocusableInteractive: rows and headings of a table are not controls
// biome-ignore-all lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useEffect, useRef } from 'react';
import './data-table.css';

export interface Column<Row> {
  name: string;
  title: string;
  cell: (row: Row) => ReactNode;
}

interface Props<Row> {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  /** Of all pages, where it is known. */
  total: number;
  keyOf: (row: Row) => number;
  /** As the API writes it: `-last_seen` descends. */
  sort: string;
  onSort: (sort: string) => void;
  /** The end is near: read the next page. */
  onEnd: () => void;
}

const ROW = 32;
const AHEAD = 30;

/** Only the rows in sight are in the page; the counts of rows are those of the whole list. */
export function DataTable<Row>(props: Props<Row>) {
  const { label, columns, rows, total, keyOf, sort, onSort, onEnd } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 20,
  });
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last + AHEAD >= rows.length) onEnd();
  }, [last, rows.length, onEnd]);

  return (
    <div
      ref={scroller}
      className="data-table"
      role="table"
      aria-label={label}
      aria-rowcount={total + 1}
      tabIndex={0}
    >
      <div role="row" aria-rowindex={1}>
        {columns.map(({ name, title }) => (
          <div key={name} role="columnheader" aria-sort={directionOf(name, sort)}>
            <button type="button" onClick={() => onSort(sort === name ? `-${name}` : name)}>
              {title} <span aria-hidden="true">{ARROWS[directionOf(name, sort)]}</span>
            </button>
          </div>
        ))}
      </div>
      <div role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ index, start }) => {
          const row = rows[index] as Row;
          const style = { transform: `translateY(${start}px)` };
          return (
            <div key={keyOf(row)} role="row" aria-rowindex={index + 2} style={style}>
              {columns.map(({ name, cell }) => (
                <div key={name} role="cell">
                  {cell(row)}
                </div>
              ))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const ARROWS = { ascending: '↑', descending: '↓', none: '' };

function directionOf(name: string, sort: string) {
  if (sort === name) return 'ascending';
  return sort === `-${name}` ? 'descending' : 'none';
}
