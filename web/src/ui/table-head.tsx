// biome-ignore-all lint/a11y/useSemanticElements: the grid keeps only visible rows in the document, which no <table> allows; keys are handled by the grid
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid keeps only visible rows in the document, which no <table> allows; keys are handled by the grid
import { Resizer } from './resizer';
import type { Dragged, TableProps } from './table';

interface HeadProps<Row extends { id: number }> extends TableProps<Row> {
  template: string;
  least: number;
  dragged: Dragged | undefined;
  onDrag: (dragged: Dragged | undefined) => void;
}

export function Head<Row extends { id: number }>(props: HeadProps<Row>) {
  const { columns, sort, onSort, onSelect, onResize, template, least, dragged, onDrag } = props;
  return (
    <div role="rowgroup" className="table-head" style={{ minWidth: least }}>
      <div
        role="row"
        aria-rowindex={1}
        className="table-row"
        style={{ gridTemplateColumns: template }}
      >
        {onSelect !== undefined && (
          <span role="columnheader">
            <span className="visually-hidden">{props.selectHead}</span>
          </span>
        )}
        {columns.map(({ name, label, isNumber, chosenWidth, width }) => (
          <span key={name} role="columnheader" aria-label={label} aria-sort={sortedBy(name, sort)}>
            <button
              type="button"
              className={isNumber ? 'number' : undefined}
              onClick={() => onSort?.(name)}
            >
              {label}
              <span aria-hidden="true">{arrow(name, sort)}</span>
            </button>
            {onResize !== undefined && (
              <Resizer
                label={props.resizeLabel?.(label) ?? label}
                width={dragged?.name === name ? dragged.width : (chosenWidth ?? width)}
                onMove={(reached) => onDrag({ name, width: reached })}
                onEnd={(reached) => {
                  onDrag(undefined);
                  onResize(name, reached);
                }}
              />
            )}
          </span>
        ))}
      </div>
    </div>
  );
}

function sortedBy(name: string, sort: string | undefined): 'ascending' | 'descending' | undefined {
  if (sort === name) return 'ascending';
  return sort === `-${name}` ? 'descending' : undefined;
}

function arrow(name: string, sort: string | undefined): string {
  if (sort === name) return ' ↑';
  return sort === `-${name}` ? ' ↓' : '';
}
