// biome-ignore-all lint/a11y/useSemanticElements: the grid keeps only visible rows in the document, which no <table> allows; keys are handled by the grid
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid keeps only visible rows in the document, which no <table> allows; keys are handled by the grid
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid keeps only visible rows in the document, which no <table> allows; keys are handled by the grid
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { Head } from './table-head';
import { useIsPrinted } from './use-is-printed';
import { keptOffset, useKeptScroll } from './use-kept-scroll';
import './table.css';

export interface Column<Row> {
  name: string;
  label: string;
  /** At least so many pixels, and a share of what the others leave. */
  width: number;
  /** Exactly so many, where a person chose them. */
  chosenWidth?: number | undefined;
  isNumber?: boolean;
  cell: (row: Row) => ReactNode;
}

export interface TableProps<Row extends { id: number }> {
  label: string;
  /** Whatever chooses the rows and their order: how far it is scrolled is kept for each. */
  list: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  /** Rows that match, also those not read yet; undefined until they are counted. */
  total: number | undefined;
  /** These are not yet the rows that were asked for. */
  isOther?: boolean;
  nameOf: (row: Row) => string;
  onOpen: (row: Row) => void;
  /** Opened in a tab of its own by the middle button, or with a modifier key. */
  pathOf: (row: Row) => string;
  onEnd?: () => void;
  sort?: string | undefined;
  onSort?: (column: string) => void;
  /** Without a width the column gets its own again. */
  onResize?: (column: string, width: number | undefined) => void;
  resizeLabel?: (column: string) => string;
  isSelected?: (row: Row) => boolean;
  onSelect?: (row: Row) => void;
  /** Above the boxes that select a row; for screen readers alone. */
  selectHead?: string;
  selectLabel?: (name: string) => string;
}

/** The column whose edge is being moved, and how wide it is meanwhile, in pixels. */
export interface Dragged {
  name: string;
  width: number;
}

const ROW = 36;

/** A grid of virtual rows: arrows move, space selects, Enter opens. */
export function Table<Row extends { id: number }>(props: TableProps<Row>) {
  const { list, columns, rows, total, onEnd, onSelect } = props;
  const [dragged, setDragged] = useState<Dragged>();
  const scroller = useRef<HTMLDivElement>(null);
  const [chosen, setCurrent] = useState(() => Math.ceil(keptOffset(list) / ROW));
  const current = Math.min(chosen, rows.length - 1);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
    initialOffset: () => keptOffset(list),
  });
  useKeptScroll(scroller, list, rows.length);
  const all = rows.map((_, index) => ({ index, start: index * ROW }));
  const items = useIsPrinted() ? all : virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 20) onEnd?.();
  }, [last, rows.length, onEnd]);

  const move = (to: number) => {
    const index = Math.max(0, Math.min(rows.length - 1, to));
    setCurrent(index);
    virtual.scrollToIndex(index);
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"]`)?.focus();
    });
  };
  const onKey = (event: KeyboardEvent) => {
    const row = rows[current];
    const isRow = (event.target as HTMLElement).dataset.index !== undefined;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 };
    const step = steps[event.key];
    if (step !== undefined) move(current + step);
    else if (event.key === ' ' && isRow && row !== undefined) onSelect?.(row);
    else if (event.key === 'Enter' && isRow && row !== undefined) props.onOpen(row);
    else return;
    event.preventDefault();
  };
  const widths = columns.map((column, index) => {
    const chosen = dragged?.name === column.name ? dragged.width : column.chosenWidth;
    return chosen === undefined
      ? { least: column.width, css: `minmax(${column.width}px, ${index === 0 ? 2 : 1}fr)` }
      : { least: chosen, css: `${chosen}px` };
  });
  const least = widths.reduce((sum, width) => sum + width.least, 56);
  const template = [
    ...(onSelect === undefined ? [] : ['36px']),
    ...widths.map(({ css }) => css),
  ].join(' ');
  return (
    <div
      ref={scroller}
      className="table"
      role="grid"
      aria-label={props.label}
      aria-rowcount={total === undefined ? -1 : total + 1}
      aria-busy={props.isOther === true || undefined}
      aria-colcount={columns.length}
      tabIndex={-1}
      onKeyDown={onKey}
    >
      <Head {...props} template={template} least={least} dragged={dragged} onDrag={setDragged} />
      <div
        role="rowgroup"
        className="table-body"
        style={{ height: virtual.getTotalSize(), minWidth: least }}
      >
        {items.map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <BodyRow
              key={row.id}
              {...props}
              row={row}
              index={item.index}
              isCurrent={item.index === current}
              onCurrent={setCurrent}
              style={{ gridTemplateColumns: template, transform: `translateY(${item.start}px)` }}
            />
          );
        })}
      </div>
    </div>
  );
}

interface BodyRowProps<Row extends { id: number }> extends TableProps<Row> {
  row: Row;
  index: number;
  isCurrent: boolean;
  onCurrent: (index: number) => void;
  style: React.CSSProperties;
}

function BodyRow<Row extends { id: number }>(props: BodyRowProps<Row>) {
  const { columns, row, index, isCurrent, onCurrent, onOpen, onSelect, style } = props;
  const isSelected = props.isSelected?.(row);
  const name = props.nameOf(row);
  const openBeside = () => void window.open(props.pathOf(row), '_blank', 'noopener');
  return (
    <div
      role="row"
      className="table-row"
      data-index={index}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      tabIndex={isCurrent ? 0 : -1}
      style={style}
      onFocus={() => onCurrent(index)}
      onClick={(event) => (event.ctrlKey || event.metaKey ? openBeside() : onOpen(row))}
      onAuxClick={({ button }) => button === 1 && openBeside()}
    >
      {onSelect !== undefined && (
        <span role="gridcell" className="table-check" onClick={(event) => event.stopPropagation()}>
          <input
            type="checkbox"
            aria-label={props.selectLabel?.(name) ?? name}
            checked={isSelected}
            tabIndex={-1}
            onChange={() => onSelect(row)}
          />
        </span>
      )}
      {columns.map((column) => (
        <span
          key={column.name}
          role="gridcell"
          className={column.isNumber ? 'table-cell number' : 'table-cell'}
        >
          {column.cell(row)}
        </span>
      ))}
    </div>
  );
}
