// biome-ignore-all lint/a11y/useSemanticElements: <hr> is the separator that nobody can move
import { useRef } from 'react';
import { useMove } from 'react-aria/useMove';
import { LEAST_WIDTH, MAX_WIDTH } from './widths';

const KEY_STEP = 16;

interface Props {
  label: string;
  /** Pixels. */
  width: number;
  /** Each step of a drag. */
  onMove: (width: number) => void;
  /** The end of a drag, or a key; undefined for the width that the table gives. */
  onEnd: (width: number | undefined) => void;
}

/** The right edge of a column: it is dragged, moved by arrow keys, and reset by a double click or Delete. */
export function Resizer({ label, width, onMove, onEnd }: Props) {
  const edge = useRef<HTMLSpanElement>(null);
  const reached = useRef(width);
  const { moveProps } = useMove({
    onMoveStart: () => {
      reached.current = edge.current?.parentElement?.getBoundingClientRect().width ?? width;
    },
    onMove: ({ deltaX, pointerType }) => {
      const step = pointerType === 'keyboard' ? deltaX * KEY_STEP : deltaX;
      const next = Math.round(reached.current + step);
      reached.current = Math.max(LEAST_WIDTH, Math.min(MAX_WIDTH, next));
      onMove(reached.current);
    },
    onMoveEnd: () => onEnd(reached.current),
  });
  return (
    <span
      {...moveProps}
      ref={edge}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={LEAST_WIDTH}
      aria-valuemax={MAX_WIDTH}
      tabIndex={0}
      className="table-resizer"
      onDoubleClick={() => onEnd(undefined)}
      onKeyDown={(event) => {
        if (event.key === 'Delete') onEnd(undefined);
        else moveProps.onKeyDown?.(event);
      }}
    />
  );
}
