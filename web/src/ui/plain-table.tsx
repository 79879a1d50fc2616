import type { ReactNode } from 'react';
import './plain-table.css';

export interface PlainColumn<Row> {
  name: string;
  label: string;
  isNumber?: boolean;
  /** Left out where the window is narrow. */
  isMinor?: boolean;
  /** Stays on one line. */
  isTight?: boolean;
  /** Its label is for screen readers alone. */
  isActions?: boolean;
  cell: (row: Row) => ReactNode;
}

interface Props<Row extends { id: number | string }> {
  label: string;
  columns: readonly PlainColumn<Row>[];
  rows: readonly Row[];
}

/** A table of what fits on a page. Long lists are for `Table`. */
export function PlainTable<Row extends { id: number | string }>(props: Props<Row>) {
  const { label, columns, rows } = props;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section className="plain-table" aria-label={label} tabIndex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.name} scope="col" {...marksOf(column)}>
                {column.isActions ? (
                  <span className="visually-hidden">{column.label}</span>
                ) : (
                  column.label
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              {columns.map((column) => (
                <td key={column.name} {...marksOf(column)}>
                  {column.isActions ? (
                    <div className="plain-table-actions">{column.cell(row)}</div>
                  ) : (
                    column.cell(row)
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function marksOf<Row>({ isNumber, isMinor, isTight }: PlainColumn<Row>) {
  return {
    className: isNumber ? 'number' : undefined,
    'data-minor': isMinor || undefined,
    'data-tight': isTight || undefined,
  };
}
