import './json-block.css';

/** Data as it is, in a block of limited height that scrolls. */
export function JsonBlock({ label, value }: { label: string; value: unknown }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <figure className="json-block" aria-label={label} tabIndex={0}>
      <pre>{JSON.stringify(value, null, 2)}</pre>
    </figure>
  );
}
